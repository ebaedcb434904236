import type {
  DeleteOptions,
  Namespace,
  Open,
  Pod,
  ServeRequest,
  ServeResponse,
  ServiceAccount,
  TokenRequestSpec,
  TokenRequestStatus,
  WriteOptions,
} from '../api/generated/types.ts';
import type { KindMap, KindName } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import type { PodStreams } from './pod-streams/pod-streams.ts';
import type { BackupClient } from './services/backup-client.ts';
import type { BindStream, BindTarget } from './services/bind-stream.ts';
import type { BulkWriter, BulkWriterOptions } from './services/bulk-writer.ts';
import type { CertificatesClient } from './services/certificates-client.ts';
import type { KindClients } from './services/kind-clients.ts';
import type { LogLevelsClient } from './services/log-levels-client.ts';
import type { ObjectsClient } from './services/objects-client.ts';
import type { PagesClient } from './services/pages-client.ts';
import type { PlacementsClient } from './services/placements-client.ts';
import type { CallOptions, ObjectKey, ResourceClient } from './services/resource-client.ts';
import type { ReviewsClient } from './services/reviews-client.ts';
import type { SecretKeysClient } from './services/secret-keys-client.ts';
import type { UsageHistoriesClient } from './services/usage-histories-client.ts';

/** Where the API server is and who is calling. */
export interface ConnectOptions {
  /** "host:port". */
  readonly address: string;
  /** The certificates of the CAs of which one signed the server's certificate (PEM). */
  readonly ca: string;
  /** The client's certificate and key (PEM), both or neither. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /**
   * Instead of `cert` and `key`, for a certificate that is renewed: asked with each call. From another answer on, calls use a connection of its own; those
   * under way go on, and the connection that they use goes with the last of them. With `ca`, that is trusted instead of the one above.
   */
  readonly certificate?:
    | (() => { readonly certificate: string; readonly key: string; readonly ca?: string | undefined })
    | undefined;
  /** A bearer token, for those without a certificate; a function for one that is renewed is asked with each call, e.g. by a program in a pod. */
  readonly token?: string | (() => string) | undefined;
  /** Impersonates another user in every call; the caller must be allowed to "impersonate" the user and each of the groups. */
  readonly impersonate?: { readonly user: string; readonly groups?: readonly string[] } | undefined;
  /** Names the program in the server's log, e.g. "my-controller/1.2". */
  readonly userAgent?: string | undefined;
  /** How soon a connection that went silent is given up: a ping after so long without a word, and so long for its answer (30 s, 10 s). */
  readonly keepalive?: { readonly timeMs: number; readonly timeoutMs: number } | undefined;
  /**
   * How long calls may take that set themselves no shorter time: calls and streams from beginning to end, a session (exec, attach, port-forward) until the server
   * answers. 0: without bound, also where 30 s are usual.
   */
  readonly requestTimeoutMs?: number | undefined;
  /** Called with every warning that the server sends with an answer, e.g. about a field that Berth does not act on. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

export interface PodClient extends ResourceClient<Pod>, PodStreams {
  /** Replaces the CPU and memory of containers and sidecars, and nothing else; the node takes them over while the pod runs. */
  updateResize(object: Pod, options?: WriteOptions, call?: CallOptions): Promise<Pod>;
  /** Replaces the list of ephemeral containers, to which others may only be added; they start beside those that run. */
  updateEphemeralContainers(object: Pod, options?: WriteOptions, call?: CallOptions): Promise<Pod>;
  /** Assigns the pod to the node, once. ABORTED: it is bound already, is another pod, or does not fit on the node any more. */
  bind(target: BindTarget, nodeName: string, call?: CallOptions): Promise<Pod>;
  /**
   * Deletes the pod if its PodDisruptionBudget allows that now. RESOURCE_EXHAUSTED with the reason "DisruptionBudget": it does not; `retryAfterMs`
   * says when to ask again, and the error's subject is the budget. `uid` in the key holds it to this very pod.
   */
  evict(target: BindTarget, options?: DeleteOptions, call?: CallOptions): Promise<Pod>;
  /** Many bindings over one stream. `timeoutMs` is for each of them. */
  bindStream(call?: CallOptions): BindStream;
}

export interface NamespaceClient extends ResourceClient<Namespace> {
  /** Replaces spec.finalizers and nothing else: for those who clean up in a namespace before it goes. */
  finalize(object: Namespace, options?: WriteOptions, call?: CallOptions): Promise<Namespace>;
}

export interface ServiceAccountClient extends ResourceClient<ServiceAccount> {
  /** A new token of an account: for the API server and an hour unless `spec` says otherwise. The server keeps no copy. */
  createToken(account: ObjectKey, spec?: TokenRequestSpec, call?: CallOptions): Promise<TokenRequestStatus>;
}

/** The agent's side of how the API server reaches a node. Used by agents only. */
export interface TunnelClient {
  /** Keeps the control stream of a node open until `signal` aborts or the server ends it; the caller opens it again. */
  control(nodeName: string, signal: AbortSignal): TunnelControl;
  /** Opens the stream that the server asked for with `Open.streamId`, for the call of `Open.requestId`. */
  serve(streamId: string, signal: AbortSignal, requestId?: string): TunnelStream;
}

export interface TunnelControl {
  /**
   * What the server asks for, as it asks. Ends when the server ends the stream; throws CANCELLED on abort, UNAVAILABLE on failure.
   * Leaving the loop ends the stream: the server would get no answer.
   */
  requests(): AsyncIterable<Open>;
  /** Tells the server that a stream cannot be served, and why. */
  refuse(streamId: string, error: unknown): Promise<void>;
}

/** One log, command, connection or copy, with flow control from end to end. */
export interface TunnelStream {
  /**
   * What the user sends, as frames of one kind. Ends with the user's side; throws CANCELLED when the user has gone. Leaving the loop
   * early throws the rest away; writing goes on.
   */
  input<K extends keyof ServeResponse>(kind: K): AsyncIterable<NonNullable<ServeResponse[K]>>;
  /** Sends a piece; resolves when there is room for more. Throws when the user has gone. */
  write(frame: TunnelFrame): Promise<void>;
  /** Says that the stream failed, as its last frame, and ends it. */
  fail(error: unknown): Promise<void>;
  /** Says that all has been sent, and ends the stream. */
  end(): void;
  /** Aborted when the stream is over, by either side. */
  readonly closed: AbortSignal;
}

/** One of what the agent sends; its name, its errors and its end have methods of their own. */
export type TunnelFrame = Omit<ServeRequest, 'streamId' | 'error' | 'end'>;

/** Everything a program needs to talk to the API server, over one connection that is made with the first call and made again when it breaks. */
export interface Client extends KindClients {
  /** The client of any kind, by its name or descriptor. */
  resource<K extends KindName>(kind: K): ResourceClient<KindMap[K]>;
  resource<T extends ApiObject>(kind: Kind<T>): ResourceClient<T>;
  /** The generic service: any kind, as JSON, protobuf or a table. */
  readonly objects: ObjectsClient;
  /** How much the server's and the agents' logs say. */
  readonly logLevels: LogLevelsClient;
  /** Who one is, and what one may do. */
  readonly reviews: ReviewsClient;
  /** What nodes and pods used in the last hour. */
  readonly usageHistories: UsageHistoriesClient;
  /** Why pods are where they are, and where others would go. */
  readonly placements: PlacementsClient;
  /** Writes of any kinds that share one stream; `timeoutMs` is for each of them. */
  bulkWriter(options?: BulkWriterOptions): BulkWriter;
  readonly tunnel: TunnelClient;
  readonly backups: BackupClient;
  readonly secretKeys: SecretKeysClient;
  readonly certificates: CertificatesClient;
  /** Whether the server works, and what it measures. */
  readonly pages: PagesClient;
  /** Ends every call with CANCELLED and closes the connection. */
  close(): void;
}
