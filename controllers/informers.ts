import type { Pod } from '../api/generated/types.ts';
import { type KindMap, type KindName, kindNamed, kinds } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import { type Client, createInformer, type Informer, type Scope } from '../client/index.ts';
import type { ControllerEnvironment } from './controller.ts';
import type { ControllerDefinition, FollowedKind, Indexers, Watched } from './definition.ts';
import { outlineOf, podOutline } from './outline.ts';

export interface Informers {
  /** Throws RangeError for a kind that no controller watches. */
  of<Name extends KindName>(kind: Name): Informer<KindMap[Name]>;
  scoped<Name extends KindName>(kind: Name, scope: Scope, name: string): Informer<KindMap[Name]>;
  readonly followed: readonly FollowedKind[];
  /** Runs all until `signal` aborts. */
  run(signal: AbortSignal): Promise<unknown>;
}

/** One informer for each kind that is watched, or whose objects may own others, with every index that a controller declares. */
export function createInformers(
  client: Client,
  definitions: readonly ControllerDefinition[],
  base: ControllerEnvironment,
): Informers {
  const byKind = new Map<string, Informer<ApiObject>>();
  const running: Informer<ApiObject>[] = [];

  function add(kind: Kind): Informer<ApiObject> {
    const watched = definitions.flatMap(({ watches }) => watches?.[kind.kind as KindName] ?? []) as Watched<ApiObject>[];
    const indexers = [
      ...watched.map((each) => each.indexers ?? {}),
      ...(kind.unowned ? [] : definitions.map(({ followedIndexers }) => followedIndexers?.(kind) ?? {})),
    ];
    const informer = createInformer<ApiObject>({
      client: client.resource(kind),
      ...(!watched.some(({ whole }) => whole) && { transform: outlinerOf(kind) }),
      indexers: Object.assign({}, ...indexers) as Indexers<ApiObject>,
      name: `controllers ${kind.plural}`,
      ...base,
    });
    byKind.set(kind.kind, informer);
    running.push(informer);
    return informer;
  }

  const isWatched = (kind: Kind): boolean => definitions.some(({ watches }) => watches?.[kind.kind as KindName] !== undefined);
  for (const kind of kinds) if (!kind.unowned || isWatched(kind)) add(kind);

  return {
    of<Name extends KindName>(kind: Name) {
      const informer = byKind.get(kind);
      if (!informer) throw new RangeError(`use the informer of ${kind}: the controller's definition does not watch it`);
      return informer as Informer<KindMap[Name]>;
    },
    scoped<Name extends KindName>(kind: Name, scope: Scope, name: string) {
      const of = client.resource<KindMap[Name]>(kindNamed(kind));
      const informer = createInformer<KindMap[Name]>({ client: of, scope, name: `controllers ${name}`, ...base });
      running.push(informer as Informer<ApiObject>);
      return informer;
    },
    followed: kinds
      .filter(({ unowned }) => !unowned)
      .map((kind) => ({ kind, client: client.resource(kind), informer: byKind.get(kind.kind)! })),
    run: (signal) => Promise.all(running.map((informer) => informer.run(signal))),
  };
}

const outlinerOf = ({ kind }: Kind) =>
  kind === 'Pod' ? (object: ApiObject): ApiObject => podOutline(object as Pod) : outlineOf<ApiObject>;
