// The package's entry: everything a program needs to use Berth's API.
export * from '../api/errors/index.ts';
export type * from '../api/generated/types.ts';
export { type KindMap, type KindName, kindOf, kinds } from '../api/kinds/index.ts';
export type { ApiObject, Kind } from '../api/kinds/kind.ts';
export { objectKey, splitKey } from '../api/meta/key.ts';
export type { Json, JsonObject } from '../api/meta/merge-patch.ts';
export { controllerReference, ownerReference } from '../api/meta/owner.ts';
export { type Backoff, type BackoffOptions, createBackoff } from './backoff.ts';
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
} from './config/config.ts';
export { type ConfigFile, emptyConfig } from './config/config-file.ts';
export { loadInCluster } from './config/in-cluster.ts';
export { connect, connectOver } from './connect.ts';
export type { CallChannel, ChannelOptions } from './connection/call-channel.ts';
export { createEventRecorder, type EventRecorder, type EventRecorderOptions, type EventType } from './events/events.ts';
export { referenceTo } from './events/reference.ts';
export type { IndexFunction, Lister } from './informer/indexer.ts';
export { createInformer, type Informer, type InformerHandler, type InformerOptions } from './informer/informer.ts';
export { type Listing, listAll } from './informer/list-all.ts';
export { createReflector, type Reflector, type ReflectorOptions, type ReflectorSink } from './informer/reflector.ts';
export {
  type LeaderElectionOptions,
  type LeadershipEnd,
  LeadershipOverrunError,
  runLeaderElected,
} from './leader-election/leader-election.ts';
export { type Logger, stderrLogger } from './logger.ts';
export { type FollowLogsOptions, followLogs } from './pod-streams/follow-logs.ts';
export type { LogGap } from './pod-streams/log-position.ts';
export type {
  AttachedStream,
  AttachKey,
  AttachStream,
  ExecOutput,
  ExecStream,
  LogKey,
  PodStreams,
  PortForwardStream,
} from './pod-streams/pod-streams.ts';
export type { BackupClient } from './services/backup-client.ts';
export type { BindStream, BindTarget, Bound } from './services/bind-stream.ts';
export type { BulkResult, BulkWrite } from './services/bulk.ts';
export type { BulkWriter, BulkWriterOptions, ResourceWrites } from './services/bulk-writer.ts';
export type { CertificatesClient, RenewWish } from './services/certificates-client.ts';
export { defineKind, type KindNames } from './services/define-kind.ts';
export type { ExtensionsClient } from './services/extensions-client.ts';
export type { KindClients } from './services/kind-clients.ts';
export type { LogLevelsClient } from './services/log-levels-client.ts';
export type { NetChecksClient } from './services/net-checks-client.ts';
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
} from './services/objects-client.ts';
export type { PagesClient, ServerPage } from './services/pages-client.ts';
export type { PlacementsClient } from './services/placements-client.ts';
export type {
  ApplyOptions,
  CallOptions,
  ObjectApplyOptions,
  ObjectKey,
  ObjectWriteOptions,
  Page,
  PatchTarget,
  PatchType,
  ResourceClient,
  ScalableClient,
  ScalableKind,
  Scope,
  VersionedKey,
  WatchEvent,
  WatchEventType,
} from './services/resource-client.ts';
export type { SecretKeysClient } from './services/secret-keys-client.ts';
export type { UsageHistoriesClient } from './services/usage-histories-client.ts';
export { createWorkQueue, type WorkQueue, type WorkQueueOptions } from './work-queue/work-queue.ts';
