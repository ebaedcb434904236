import type { Open, ServeRequest, ServeResponse } from '../api/generated/types.ts';
import type { KindMap, KindName } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import type { BackupClient } from './services/backup-client.ts';
import type { BulkWriter, BulkWriterOptions } from './services/bulk-writer.ts';
import type { CertificatesClient } from './services/certificates-client.ts';
import type { ExtensionsClient } from './services/extensions-client.ts';
import type { KindClients } from './services/kind-clients.ts';
import type { LogLevelsClient } from './services/log-levels-client.ts';
import type { NetChecksClient } from './services/net-checks-client.ts';
import type { ObjectsClient } from './services/objects-client.ts';
import type { PagesClient } from './services/pages-client.ts';
import type { PlacementsClient } from './services/placements-client.ts';
import type { ResourceClient, ScalableClient, ScalableKind } from './services/resource-client.ts';
import type { ReviewsClient } from './services/reviews-client.ts';
import type { SecretKeysClient } from './services/secret-keys-client.ts';
import type { UsageHistoriesClient } from './services/usage-histories-client.ts';

export type { ConnectOptions } from './connection/connect-options.ts';
export type { NamespaceClient } from './services/namespace-client.ts';
export type { PodClient } from './services/pod-client.ts';
export type { ServiceAccountClient } from './services/service-account-client.ts';

/** The agent's side of how the API server reaches a node. Used by agents only. */
export interface TunnelClient {
  /** Keeps the control stream of a node open until `signal` aborts or the server ends it; the caller opens it again. */
  control(nodeName: string, signal: AbortSignal): TunnelControl;
  /** Opens the stream that the server asked for with `Open.streamId`, for the call of `Open.requestId`. */
  serve(streamId: string, signal: AbortSignal, requestId?: string): TunnelStream;
}

export interface TunnelControl {
  /**
   * What the server asks for, as it asks. Ends when the server ends the stream; throws CANCELLED on abort, UNAVAILABLE
   * on failure. Leaving the loop ends the stream: the server would get no answer.
   */
  requests(): AsyncIterable<Open>;
  /** Tells the server that a stream cannot be served, and why. */
  refuse(streamId: string, error: unknown): Promise<void>;
}

/** One log, command, connection or copy, with flow control from end to end. */
export interface TunnelStream {
  /**
   * What the user sends, as frames of one kind. Ends with the user's side; throws CANCELLED when the user has gone.
   * Leaving the loop early throws the rest away; writing goes on.
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

/**
 * Everything a program needs to talk to the API server, over one connection that is made with the first call and made
 * again when it breaks.
 */
export interface Client extends KindClients {
  /** The client of any kind, by its name or descriptor. */
  resource<K extends KindName>(kind: K): ResourceClient<KindMap[K]>;
  resource<T extends ApiObject>(kind: ScalableKind<T>): ScalableClient<T>;
  resource<T extends ApiObject>(kind: Kind<T>): ResourceClient<T>;
  /** The generic service: any kind, as JSON, protobuf or a table. */
  readonly objects: ObjectsClient;
  /** How much the server's and the agents' logs say. */
  readonly logLevels: LogLevelsClient;
  /** Identity and access of the caller and of other users. */
  readonly reviews: ReviewsClient;
  /** What nodes and pods used in the last hour. */
  readonly usageHistories: UsageHistoriesClient;
  /** What nodes see of the network of pods. */
  readonly netChecks: NetChecksClient;
  /** Why pods are where they are, and where others would go. */
  readonly placements: PlacementsClient;
  /** Writes of any kinds that share one stream; `timeoutMs` is for each of them. */
  bulkWriter(options?: BulkWriterOptions): BulkWriter;
  readonly tunnel: TunnelClient;
  readonly backups: BackupClient;
  readonly secretKeys: SecretKeysClient;
  readonly certificates: CertificatesClient;
  readonly extensions: ExtensionsClient;
  /** Whether the server works, and what it measures. */
  readonly pages: PagesClient;
  /** Ends every call with CANCELLED and closes the connection. */
  close(): void;
}
