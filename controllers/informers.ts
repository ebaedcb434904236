import type { Pod } from '../api/generated/types.ts';
import { resourceOf } from '../api/kinds/identity.ts';
import { isKind, type KindMap, type KindName, kindId, kindNamed, kinds } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { type Growing, GrowingSet } from '../api/meta/growing-set.ts';
import { type Client, createInformer, type Informer, type Scope } from '../client/index.ts';
import type { ControllerEnvironment } from './controller.ts';
import type { ControllerDefinition, FollowedKind, Indexers, Watched } from './definition.ts';
import { outlineOf, podOutline } from './outline.ts';

export interface Informers {
  /** Throws RangeError for a kind that no controller watches. */
  of<Name extends KindName>(kind: Name): Informer<KindMap[Name]>;
  /** One for each name: a controller that is made again gets the one that it had. */
  scoped<Name extends KindName>(kind: Name, scope: Scope, name: string): Informer<KindMap[Name]>;
  readonly followed: Growing<FollowedKind>;
  /** Follows one more kind, which is none of Berth's own. */
  add(kind: Kind): void;
  /** Runs all until `signal` aborts. */
  run(signal: AbortSignal): Promise<unknown>;
  /** Lists all kinds again; resolves when every informer shows a list that was begun after the call. */
  relist(signal: AbortSignal): Promise<unknown>;
}

/**
 * One informer for each kind that is watched, or whose objects may own others, with every index that a controller
 * declares.
 */
export function createInformers(
  client: Client,
  definitions: readonly ControllerDefinition[],
  base: ControllerEnvironment,
): Informers {
  const byKind = new Map<string, Informer<ApiObject>>();
  const running: Informer<ApiObject>[] = [];
  const scopedOnes = new Map<string, Informer<ApiObject>>();
  const followed = new GrowingSet<FollowedKind>();
  const ends: Promise<void>[] = [];
  let started: AbortSignal | undefined;

  function add(kind: Kind): void {
    const watched = definitions.flatMap(({ watches }) => watches?.[kindId(kind) as KindName] ?? []) as Watched<ApiObject>[];
    const indexers = [
      ...watched.map((each) => each.indexers ?? {}),
      ...(kind.unowned ? [] : definitions.map(({ followedIndexers }) => followedIndexers?.(kind) ?? {})),
    ];
    const informer = createInformer<ApiObject>({
      client: client.resource(kind),
      ...(!watched.some(({ whole }) => whole) && { transform: outlinerOf(kind) }),
      indexers: Object.assign({}, ...indexers) as Indexers<ApiObject>,
      name: `controllers ${resourceOf(kind)}`,
      ...base,
    });
    byKind.set(kindId(kind), informer);
    start(informer);
    if (!kind.unowned) followed.add({ kind, client: client.resource(kind), informer });
  }

  function start(informer: Informer<ApiObject>): void {
    running.push(informer);
    if (started) ends.push(informer.run(started));
  }

  const isWatched = (kind: Kind): boolean => definitions.some(({ watches }) => watches?.[kindId(kind) as KindName] !== undefined);
  for (const kind of kinds) if (!kind.unowned || isWatched(kind)) add(kind);

  return {
    of<Name extends KindName>(kind: Name) {
      const informer = byKind.get(kind);
      if (!informer) throw new RangeError(`use the informer of ${kind}: the controller's definition does not watch it`);
      return informer as Informer<KindMap[Name]>;
    },
    scoped<Name extends KindName>(kind: Name, scope: Scope, name: string) {
      const known = scopedOnes.get(name) as Informer<KindMap[Name]> | undefined;
      if (known) return known;
      const of = client.resource<KindMap[Name]>(kindNamed(kind));
      const informer = createInformer<KindMap[Name]>({ client: of, scope, name: `controllers ${name}`, ...base });
      scopedOnes.set(name, informer as Informer<ApiObject>);
      start(informer as Informer<ApiObject>);
      return informer;
    },
    followed,
    add,
    relist: (signal) => Promise.all(running.map((informer) => informer.relist(signal))),
    async run(signal) {
      started = signal;
      ends.push(...running.map((informer) => informer.run(signal)));
      // Informers of kinds that were added meanwhile end here too.
      for (let seen = 0; seen < ends.length; ) {
        seen = ends.length;
        await Promise.all(ends);
      }
    },
  };
}

const outlinerOf = (kind: Kind) =>
  isKind(kind, 'Pod') ? (object: ApiObject): ApiObject => podOutline(object as Pod) : outlineOf<ApiObject>;
