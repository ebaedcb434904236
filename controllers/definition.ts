import type { PolicyRule } from '../api/generated/types.ts';
import type { KindMap, KindName } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import type { Growing } from '../api/meta/growing-set.ts';
import type {
  BulkWriter,
  Client,
  Clock,
  EventRecorder,
  IndexFunction,
  Informer,
  Logger,
  ResourceClient,
  Scope,
} from '../client/index.ts';
import type { Controller } from './controller.ts';
import type { LoadBalancerSettings } from './load-balancer/address-pool.ts';
import type { EvictionRates } from './node-lifecycle/zone-state.ts';
import type { NodeNetworkSettings } from './node-network/decide.ts';
import type { Outage } from './outage.ts';

export type Indexers<T> = Readonly<Record<string, IndexFunction<T>>>;

/**
 * How a controller needs the objects of a kind. All controllers share one informer a kind, with what any of them needs.
 */
export interface Watched<T extends ApiObject> {
  /** Whole objects; else outlines (`outline.ts`) suffice. */
  readonly whole?: true;
  readonly indexers?: Indexers<T>;
}

export type Watches = { readonly [Name in KindName]?: Watched<KindMap[Name]> };

/** A kind whose objects may own and be owned, with the informer that all share. */
export interface FollowedKind {
  readonly kind: Kind;
  readonly client: ResourceClient<ApiObject>;
  readonly informer: Pick<Informer<ApiObject>, 'lister' | 'addHandler' | 'waitForSync'>;
}

/** What an operator says of controllers. */
export interface ControllerSettings extends NodeNetworkSettings, LoadBalancerSettings {
  /** How long a node's agent may say nothing (default 30 s). */
  readonly nodeGraceMs?: number;
  /** How fast nodes that are lost may be given up; what is left out is Kubernetes' figure. */
  readonly evictionRates?: Partial<EvictionRates> | undefined;
  /** How many pods that have ended are kept (default 12,500). */
  readonly maxFinishedPods?: number;
  /** The certificates (PEM) of the cluster's authorities, to be published in every namespace; absent: they are not. */
  readonly authorities?: (() => Promise<string>) | undefined;
}

export interface ControllerContext {
  readonly client: Client;
  /** Of a kind that the definition watches. */
  informer<Name extends KindName>(kind: Name): Informer<KindMap[Name]>;
  /** An informer of the controller's own, for a part of a kind, by its name. Runs with the controllers. */
  scoped<Name extends KindName>(kind: Name, scope: Scope, name: string): Informer<KindMap[Name]>;
  /** Every kind whose objects may own and be owned; those of users come and go while the controllers run. */
  readonly followed: Growing<FollowedKind>;
  /** For controllers that write much: their writes share a stream, and answer the metadata alone. */
  readonly writer: BulkWriter;
  /** Records events as the definition's component. */
  readonly events: EventRecorder;
  readonly outage: Outage;
  readonly settings: ControllerSettings;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A controller as its folder declares it; `main.ts` lists them. */
export interface ControllerDefinition {
  /** For `--controllers` and logs, e.g. "node-lifecycle". */
  readonly name: string;
  /** The component that its events name; absent: "controllermanager". */
  readonly component?: string;
  /**
   * What it may do besides what all controllers may: read, patch and delete objects of every kind, record events, and
   * hold the leader's Lease.
   */
  readonly rules?: readonly PolicyRule[];
  readonly watches?: Watches;
  /** Indexes of every followed kind that the controller reads through `followed`. */
  readonly followedIndexers?: (kind: Kind) => Indexers<ApiObject>;
  /** Undefined where the settings leave nothing to do. */
  create(context: ControllerContext): Controller | undefined;
}
