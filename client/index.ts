// The package's entry: everything a program needs to use Berth's API.
export * from '../api/errors/index.ts';
export type * from '../api/generated/types.ts';
export { type KindMap, type KindName, kindOf, kinds } from '../api/kinds/index.ts';
export type { ApiObject, Kind } from '../api/kinds/kind.ts';
export { objectKey, splitKey } from '../api/meta/key.ts';
export type { Json, JsonObject } from '../api/meta/merge-patch.ts';
export { type Backoff, type BackoffOptions, createBackoff } from './backoff.ts';
export type { BackupClient } from './backup-client.ts';
export type { BindStream, BindTarget, Bound } from './bind-stream.ts';
export type { BulkResult, BulkWrite } from './bulk.ts';
export type { BulkWriter, BulkWriterOptions, ResourceWrites } from './bulk-writer.ts';
export type { CertificatesClient, RenewWish } from './certificates-client.ts';
export type {
  Client,
  ConnectOptions,
  NamespaceClient,
  PodClient,
  TunnelClient,
  TunnelControl,
  TunnelFrame,
  TunnelStream,
} from './client.ts';
export { type Clock, pause, systemClock } from './clock.ts';
export {
  ConfigError,
  type Context,
  type ContextSummary,
  configPath,
  listContexts,
  loadContext,
  type NewContext,
  readConfig,
  removeContext,
  setContextAuthorities,
  setContextNamespace,
  upsertContext,
  useContext,
} from './config.ts';
export { type ConfigFile, emptyConfig } from './config-file.ts';
export { connect } from './connect.ts';
export { createEventRecorder, type EventRecorder, type EventRecorderOptions, type EventType } from './events.ts';
export { type FollowLogsOptions, followLogs } from './follow-logs.ts';
export type { IndexFunction, Lister } from './indexer.ts';
export { createInformer, type Informer, type InformerHandler, type InformerOptions } from './informer.ts';
export {
  type LeaderElectionOptions,
  type LeadershipEnd,
  LeadershipOverrunError,
  runLeaderElected,
} from './leader-election.ts';
export { type Listing, listAll } from './list-all.ts';
export type { LogLevelsClient } from './log-levels-client.ts';
export type { LogGap } from './log-position.ts';
export { type Logger, stderrLogger } from './logger.ts';
export type {
  HistoryOptions,
  ObjectChange,
  ObjectHistory,
  ObjectPage,
  ObjectsClient,
  TableChange,
  TableKey,
  TablePage,
  TableScope,
} from './objects-client.ts';
export type { PagesClient, ServerPage } from './pages-client.ts';
export type { PlacementsClient } from './placements-client.ts';
export type {
  AttachedStream,
  AttachKey,
  AttachStream,
  ExecOutput,
  ExecStream,
  LogKey,
  PodStreams,
  PortForwardStream,
} from './pod-streams.ts';
export { referenceTo } from './reference.ts';
export { createReflector, type Reflector, type ReflectorOptions, type ReflectorSink } from './reflector.ts';
export type {
  CallOptions,
  ObjectKey,
  ObjectWriteOptions,
  Page,
  PatchTarget,
  PatchType,
  ResourceClient,
  Scope,
  VersionedKey,
  WatchEvent,
  WatchEventType,
} from './resource-client.ts';
export type { SecretKeysClient } from './secret-keys-client.ts';
export type { UsageHistoriesClient } from './usage-histories-client.ts';
export { createWorkQueue, type WorkQueue, type WorkQueueOptions } from './work-queue.ts';
