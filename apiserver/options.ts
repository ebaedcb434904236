import type { Logger } from 'pino';
import type { PolicyRule } from '../api/generated/types.ts';
import type { Kind } from '../api/kinds/kind.ts';
import type { LogLevelControl } from '../api/meta/log-level.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import type { ServiceRanges } from './allocation/ranges.ts';
import type { Audit } from './audit/audit.ts';
import type { AnonymousLimits } from './limits/anonymous-calls.ts';
import type { AnswerLimits } from './limits/answer-room.ts';
import type { ClientLimits } from './limits/client-limits.ts';

export type { ClientLimits } from './limits/client-limits.ts';

import type { ArrivalLimits } from './connections/arrivals.ts';
import type { ListenerLimits } from './connections/connection-bounds.ts';
import type { Keepalive } from './connections/keepalive.ts';
import type { TlsOptions } from './connections/tls.ts';
import type { NamespaceLimits } from './registry/ledgers/namespace-ledger.ts';
import type { ItemStreamLimits } from './rpc/item-stream.ts';
import type { LocalCaller } from './rpc/local/local-call.ts';
import type { LocalChannel } from './rpc/local/local-calls.ts';
import type { LostNodeSeconds } from './served-kinds.ts';
import type { Storage } from './storage/storage.ts';
import type { ListLimits } from './verbs/list-gate.ts';
import type { WatchLimits } from './verbs/watch-pump.ts';
import type { RingBounds } from './watch/event-ring.ts';

export interface ServerOptions {
  /** Everything the server keeps: store/, pki/. */
  readonly dataDir: string;
  /** "127.0.0.1:7443"; port 0 takes a free one. */
  readonly listen: string;
  /** A name or address under which clients reach the server, if it is not one of the machine's own. */
  readonly advertise?: string | undefined;
  /** Where Kubernetes' HTTP API is served, HOST:PORT; absent: nowhere. */
  readonly kubernetesListen?: string | undefined;
  /** Whether the server starts without this API when another program has the port; otherwise the start fails. */
  readonly kubernetesMayLack?: boolean | undefined;
  readonly backend: 'memory' | 'lmdb';
  /** The retention of old versions; an hour by default. */
  readonly historyMs?: number | undefined;
  /** How many bytes they may take; then the older half is forgotten before its time. */
  readonly historyBytes?: number | undefined;
  readonly log: Logger;
  /** Changes how much `log` and its children write. */
  readonly logLevel?: LogLevelControl;
  /** Called once, when the server serves. */
  readonly ready?: (info: ServerInfo) => void;
  /** Where it puts what it measures. */
  readonly metrics?: MetricsRegistry;
  /** How much clients may ask for at once; what is left out is as by default. */
  readonly limits?: Partial<ClientLimits>;
  /** How much one namespace may hold; what is left out is as by default. */
  readonly namespaceLimits?: Partial<NamespaceLimits> | undefined;
  /** What this version's controllers may do besides what all may: part of their role. Absent: nothing. */
  readonly controllerRules?: readonly PolicyRule[] | undefined;
  /** Where pods may use the priority classes of the system besides kube-system; "*" is every namespace. */
  readonly systemPriorityNamespaces?: readonly string[] | undefined;
  /** How long an event stays after it was last written (default 1 h). */
  readonly eventTtlMs?: number | undefined;
  /** How many seconds pods that say nothing of it stay on a lost node (default 300). */
  readonly lostNodeSeconds?: LostNodeSeconds | undefined;
  /** Where services get their addresses and node ports from; what is left out is as by default. */
  readonly serviceRanges?: ServiceRanges | undefined;
  /** Below which the names of services are; "cluster.local" when absent. The server's certificate names it. */
  readonly clusterDomain?: string | undefined;
  /** The audit log; absent: disabled. The caller closes it. */
  readonly audit?: Audit | undefined;
  /** Which TLS is spoken; what is left out is as by default: 1.3 only. */
  readonly tls?: Partial<TlsOptions> | undefined;
  /** For tests: other kinds, smaller bounds. */
  readonly kinds?: readonly Kind[];
  /** Used in place of the backend; the server closes it. */
  readonly storage?: Storage;
  /** Leaves out the type checking of policies, which writes their status after each change of a spec. */
  readonly checksNoPolicyTypes?: boolean;
  readonly ring?: Partial<RingBounds>;
  readonly watchLimits?: Partial<WatchLimits>;
  readonly keepalive?: Keepalive;
  /** What running calls get when the server stops (5 s). */
  readonly drainMs?: number;
  readonly listLimits?: Partial<ListLimits>;
  readonly itemStreamLimits?: Partial<ItemStreamLimits>;
  readonly arrivalLimits?: Partial<ArrivalLimits>;
  readonly answerLimits?: Partial<AnswerLimits>;
  readonly anonymousLimits?: Partial<AnonymousLimits>;
  readonly listenerLimits?: Partial<ListenerLimits>;
}

export interface ServerInfo {
  /** Where it listens, with the real port. */
  readonly address: string;
  readonly port: number;
  /** Where Kubernetes' HTTP API is served, with the real port. */
  readonly kubernetes?: string | undefined;
  /** The authority's certificate, PEM. */
  readonly ca: string;
  /**
   * Carries the calls of a client that lives in this process and that the process trusts to be this caller; they pass
   * the same steps as those that come over the network.
   */
  channel(caller: LocalCaller): LocalChannel;
  /** Serves one more kind; resolves when its objects are shown. Throws RangeError for one that is there already. */
  addKind(kind: Kind): Promise<void>;
}
