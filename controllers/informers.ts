import type { CustomResourceDefinition, Pod } from '../api/generated/types.ts';
import { resourceOf } from '../api/kinds/identity.ts';
import { isKind, type KindMap, type KindName, kindId, kindNamed, kinds } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { type Growing, GrowingSet } from '../api/meta/growing-set.ts';
import { withoutManagers } from '../api/meta/without-managers.ts';
import { type Client, createInformer, type Informer, type Scope } from '../client/index.ts';
import type { ControllerEnvironment } from './controller.ts';
import { followDefinitions } from './custom-kinds.ts';
import type { ControllerDefinition, FollowedKind, Indexers, Watched } from './definition.ts';
import { createRunner, createUsedKinds, type KindInformer, type Runner, untilUsed } from './informer-runner.ts';
import { definitionOutline, outlineOf, podOutline } from './outline.ts';

export interface Informers {
  /** Throws RangeError for a kind that no controller watches. */
  of<Name extends KindName>(kind: Name): Informer<KindMap[Name]>;
  /** One for each name: a controller that is made again gets the one that it had. */
  scoped<Name extends KindName>(kind: Name, scope: Scope, name: string): Informer<KindMap[Name]>;
  readonly followed: Growing<FollowedKind>;
  /** Follows one more kind, which is none of Berth's own. */
  add(kind: Kind): void;
  /** Follows such a kind no more: its informer ends. Nothing for a kind that is not followed. */
  remove(kind: Kind): void;
  /** Runs all until `signal` aborts. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Lists all kinds again; resolves when every informer shows a list that was begun after the call. */
  relist(signal: AbortSignal): Promise<unknown>;
}

/**
 * One informer for each kind that is watched, or whose objects may own others, with every index that a controller
 * declares. The kinds of CustomResourceDefinitions are followed as they come and go, and watched when they have
 * objects.
 */
export function createInformers(
  client: Client,
  definitions: readonly ControllerDefinition[],
  base: ControllerEnvironment,
): Informers {
  const runner = createRunner();
  const scopedOnes = new Map<string, Informer<ApiObject>>();
  const shared = createKindInformers({ client, definitions, base, runner });
  const { of, followed, add, remove } = shared;

  for (const kind of kinds) if (!kind.unowned || watchesOf(definitions, kind).length > 0) add(kind);
  followDefinitions(of('CustomResourceDefinition'), { came: shared.addUnused, used: shared.use, left: remove });

  return {
    of,
    scoped<Name extends KindName>(kind: Name, scope: Scope, name: string) {
      const known = scopedOnes.get(name) as Informer<KindMap[Name]> | undefined;
      if (known) return known;
      const resource = client.resource<KindMap[Name]>(kindNamed(kind));
      const informer = createInformer<KindMap[Name]>({
        ...{ client: resource, scope, transform: withoutManagers<KindMap[Name]>, name: `controllers ${name}` },
        ...base,
      });
      scopedOnes.set(name, informer as Informer<ApiObject>);
      runner.start(informer as Informer<ApiObject>);
      return informer;
    },
    followed,
    add,
    remove,
    relist: runner.relist,
    run: runner.run,
  };
}

interface KindInformersOptions {
  readonly client: Client;
  readonly definitions: readonly ControllerDefinition[];
  readonly base: ControllerEnvironment;
  readonly runner: Runner;
}

/** The informers that all controllers share, one for each kind. */
function createKindInformers({ client, definitions, base, runner }: KindInformersOptions) {
  const byKind = new Map<string, KindInformer>();
  const followed = new GrowingSet<FollowedKind>();
  const used = createUsedKinds(({ informer }) => runner.start(informer), base);

  function make(kind: Kind): KindInformer {
    const resource = client.resource(kind);
    const informer = createInformer<ApiObject>({
      client: resource,
      transform: isWhole(definitions, kind) ? withoutManagers : outlinerOf(kind),
      indexers: indexersOf(definitions, kind),
      name: `controllers ${resourceOf(kind)}`,
      ...base,
    });
    return { kind, client: resource, informer, stop: undefined };
  }

  function show(made: KindInformer, informer: FollowedKind['informer']): void {
    const { kind, client } = made;
    byKind.set(kindId(kind), made);
    if (kind.unowned) return;
    made.followed = { kind, client, informer };
    followed.add(made.followed);
  }

  return {
    followed,
    of<Name extends KindName>(kind: Name): Informer<KindMap[Name]> {
      const known = byKind.get(kind);
      if (!known) throw new RangeError(`use the informer of ${kind}: the controller's definition does not watch it`);
      return known.informer as Informer<KindMap[Name]>;
    },
    add(kind: Kind): void {
      const made = make(kind);
      made.stop = runner.start(made.informer);
      show(made, made.informer);
    },
    addUnused(kind: Kind): void {
      const made = make(kind);
      show(made, untilUsed(made));
    },
    use(kind: Kind): void {
      const known = byKind.get(kindId(kind));
      if (known) used.use(known);
    },
    remove(kind: Kind): void {
      const known = byKind.get(kindId(kind));
      if (!known) return;
      byKind.delete(kindId(kind));
      if (known.followed) followed.remove(known.followed);
      known.stop?.();
      used.forget(known);
    },
  };
}

function watchesOf(definitions: readonly ControllerDefinition[], kind: Kind): Watched<ApiObject>[] {
  return definitions.flatMap(({ watches }) => watches?.[kindId(kind) as KindName] ?? []) as Watched<ApiObject>[];
}

const isWhole = (definitions: readonly ControllerDefinition[], kind: Kind): boolean =>
  watchesOf(definitions, kind).some(({ whole }) => whole);

function indexersOf(definitions: readonly ControllerDefinition[], kind: Kind): Indexers<ApiObject> {
  const indexers = [
    ...watchesOf(definitions, kind).map((each) => each.indexers ?? {}),
    ...(kind.unowned ? [] : definitions.map(({ followedIndexers }) => followedIndexers?.(kind) ?? {})),
  ];
  return Object.assign({}, ...indexers) as Indexers<ApiObject>;
}

function outlinerOf(kind: Kind): (object: ApiObject) => ApiObject {
  if (isKind(kind, 'Pod')) return (object) => podOutline(object as Pod);
  if (isKind(kind, 'CustomResourceDefinition')) return (object) => definitionOutline(object as CustomResourceDefinition);
  return outlineOf<ApiObject>;
}
