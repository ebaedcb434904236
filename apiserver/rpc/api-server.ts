import { randomUUID } from 'node:crypto';
import type { Server, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import type { LogLevelControl } from '../../api/meta/log-level.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { DynamicAdmission } from '../admission/dynamic.ts';
import type { WebhookTargets } from '../admission/webhooks/webhook-targets.ts';
import { type Aggregation, createAggregation } from '../aggregation/aggregation.ts';
import type { Audit } from '../audit/audit.ts';
import { AccountTokens } from '../authn/accounts/account-tokens.ts';
import type { TokenKeys } from '../authn/accounts/token-keys.ts';
import { anyOf } from '../authn/bootstrap-tokens.ts';
import type { TokenTable } from '../authn/tokens.ts';
import { Authorizer } from '../authz/authorizer.ts';
import { AccessTable } from '../calls/access-table.ts';
import { CallMeters } from '../calls/call-meter.ts';
import { type ArrivalLimits, Arrivals, clientOf, defaultArrivalLimits } from '../connections/arrivals.ts';
import type { Keepalive } from '../connections/keepalive.ts';
import { Refusals } from '../connections/refusals.ts';
import { LazyDoor } from '../http/listener/lazy-door.ts';
import { AnonymousCalls, type AnonymousLimits, defaultAnonymousLimits } from '../limits/anonymous-calls.ts';
import { type AnswerLimits, AnswerRoom, defaultAnswerLimits } from '../limits/answer-room.ts';
import { type ClientLimits, defaultClientLimits, LimitKeeper } from '../limits/client-limits.ts';
import { ClientCertificates } from '../pki/client-certificates.ts';
import type { FrontProxy } from '../pki/front-proxy.ts';
import type { HeldCertificates } from '../pki/held-certificates.ts';
import type { NodeSums } from '../registry/node-sums.ts';
import type { Registry } from '../registry/registry.ts';
import type { BackupSource } from '../storage/backup/backup-source.ts';
import type { SecretKeys } from '../storage/encryption/secret-keys.ts';
import { Tunnels } from '../tunnel/tunnels.ts';
import type { ActionDeps } from '../verbs/actions/action.ts';
import { defaultListLimits, type ListLimits } from '../verbs/list-gate.ts';
import { Verbs } from '../verbs/verbs.ts';
import { defaultWatchLimits, type WatchLimits } from '../verbs/watch-pump.ts';
import { placeOf } from '../watch/entry.ts';
import { actionMethods, bindStreamMethod } from './action-methods.ts';
import { addWebhooks } from './admission-webhooks.ts';
import { BACKUP_SERVICE, backupService } from './backup-service.ts';
import { CallPipeline, type CallPipelineOptions } from './call-pipeline.ts';
import { CERTIFICATES_SERVICE, certificatesService } from './certificates-service.ts';
import { EXTENSIONS_SERVICE, extensionsService } from './extensions-service.ts';
import { createGrpcServer } from './grpc-server.ts';
import { addHealth } from './health.ts';
import { defaultItemStreamLimits, type ItemStreamLimits, ItemStreams } from './item-stream.ts';
import { LocalCalls } from './local/local-calls.ts';
import { LOG_LEVELS_SERVICE, logLevelsService } from './log-levels-service.ts';
import { NET_CHECKS_SERVICE, netChecksService } from './net-checks-service.ts';
import { OBJECTS_SERVICE, objectsService } from './objects-service.ts';
import { PAGES_SERVICE, pagesService } from './pages-service.ts';
import { PLACEMENTS_SERVICE, placementsService } from './placements-service.ts';
import { addReflection } from './reflection.ts';
import { reviewServices } from './review-services.ts';
import { SchedulerLinks } from './scheduler-links.ts';
import { SECRET_KEYS_SERVICE, secretKeysService } from './secret-keys-service.ts';
import { TOKEN_KEYS_SERVICE, tokenKeysService } from './token-keys-service.ts';
import { podStreamMethods } from './tunnel/pod-streams.ts';
import { TUNNEL_SERVICE, tunnelService } from './tunnel/tunnel-service.ts';
import { type SpecialMethods, typedService } from './typed-service.ts';
import { USAGE_HISTORIES_SERVICE, usageHistoriesService } from './usage-history-service.ts';

export interface ApiServerOptions {
  readonly registry: Registry;
  /** Where the webhooks of users are put among the rules; absent: none are called. */
  readonly dynamic?: DynamicAdmission | undefined;
  /** Hears how webhooks are reached, for those that convert. */
  readonly webhookTargets?: WebhookTargets | undefined;
  readonly sums: NodeSums;
  readonly tokens: TokenTable;
  /** What signs tokens of service accounts. */
  readonly tokenKeys: TokenKeys;
  readonly certificates: HeldCertificates;
  /** With what it speaks to extension servers. */
  readonly frontProxy: FrontProxy;
  readonly log: Logger;
  readonly now: () => Date;
  readonly random: () => number;
  /** Ends open streams. */
  readonly stopping: AbortSignal;
  readonly watchLimits?: Partial<WatchLimits>;
  readonly metrics: MetricsRegistry;
  readonly limits?: Partial<ClientLimits>;
  readonly listLimits?: Partial<ListLimits>;
  readonly logLevel?: LogLevelControl | undefined;
  /** What backups are made of; absent when there can be none. */
  readonly backup?: BackupSource | undefined;
  /** How Secrets are kept; absent where nothing is kept that outlives the process. */
  readonly secretKeys?: SecretKeys | undefined;
  /** The audit log; absent: disabled. */
  readonly audit?: Audit | undefined;
  readonly keepalive?: Keepalive | undefined;
  readonly itemStreamLimits?: Partial<ItemStreamLimits>;
  readonly arrivalLimits?: Partial<ArrivalLimits>;
  readonly answerLimits?: Partial<AnswerLimits>;
  readonly anonymousLimits?: Partial<AnonymousLimits>;
}

export interface ApiServer {
  readonly server: Server;
  /** The same services for clients in this process. */
  readonly local: LocalCalls;
  /** Where it is counted what the network's side refuses. */
  readonly refusals: Refusals;
  /** The second door, for requests of Kubernetes' HTTP API. */
  readonly door: LazyDoor;
  /** The groups that extension servers serve; to be run. */
  readonly aggregation: Aggregation;
  /** Requests that have not arrived in whole, over both doors. */
  readonly arrivals: Arrivals;
  /** The status of the health service; initially NOT_SERVING. */
  setServing(serving: boolean): void;
}

/** Every service on one server, made from the kinds of the registry; does not listen yet. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { registry, log, metrics } = options;
  const refusals = new Refusals({ metrics, log, now: () => performance.now() });
  const arrivals = new Arrivals({
    limits: { ...defaultArrivalLimits, ...options.arrivalLimits },
    now: () => performance.now(),
    refusals,
    clientOf,
  });
  const server = createGrpcServer(arrivals, options.keepalive);
  const local = new LocalCalls();
  const calls = createCalls(options);
  const serve = ({ definition, implementation }: Served): void => {
    calls.access.require(definition);
    server.addService(definition, implementation);
    local.add(definition, implementation);
  };
  const core = createCore(options, calls);
  const { dynamic, random, webhookTargets } = options;
  if (dynamic) addWebhooks(dynamic, { registry, tunnels: core.tunnels, metrics, random, webhookTargets });
  const names = [...coreNames];
  const { accounts } = calls;
  const { sums, tokenKeys } = options;
  const deps = { registry, sums, accounts };
  const ofPods = podMethods(deps, core, calls.pipeline);
  registry.stores.follow((store) => {
    // Kinds that users added have no service of their own, and may have the names of another one's.
    if (isCustom(store.kind)) return;
    calls.access.add(store.kind);
    const special = { ...actionMethods(store.id, deps, calls.pipeline), ...(store.id === 'Pod' && ofPods) };
    serve(typedService(store, core.verbs, calls.pipeline, special));
    names.push(store.kind.service);
  });
  for (const service of coreServices(options, core, calls)) serve(service);
  const reviewTokens = { accounts: calls.accounts, all: calls.tokens };
  for (const { name, ...service } of reviewServices(calls.pipeline, reviewTokens)) {
    serve(service);
    names.push(name);
  }
  const setHealth = addHealth(server, calls.pipeline);
  addReflection(server, names, calls.pipeline);
  let isServing = false;
  const setServing = (serving: boolean): void => {
    isServing = serving;
    setHealth(serving);
  };
  const actions = { ...deps, reviewTokens, tokenKeys, schedulers: core.schedulers };
  const aggregation = createAggregation({ ...options, tunnels: core.tunnels });
  const door = new LazyDoor({
    ...{ ...calls.options, registry, ...core, actions, aggregation },
    ...{ now: options.now, isServing: () => isServing, metrics, random: options.random, arrivals },
  });
  serve(extensionsService({ aggregation, namespaces: registry.store('Namespace') }, calls.pipeline));
  const pages = { metrics, storage: registry.storage, stopping: options.stopping, log };
  serve(pagesService({ ...pages, kubernetesAddresses: () => door.addresses }, calls.pipeline));
  return { server, local, refusals, arrivals, door, aggregation, setServing };
}

type Calls = ReturnType<typeof createCalls>;

/** What every call passes: authentication, authorization, limits. */
function createCalls(options: ApiServerOptions) {
  const { registry, log, now, stopping, metrics, certificates } = options;
  const accounts = accountTokens(options);
  const tokens = accounts ? anyOf([options.tokens, accounts]) : options.tokens;
  const authorizer = new Authorizer(registry);
  authorizer.observe();
  const limits = new LimitKeeper({ ...defaultClientLimits, ...options.limits }, { metrics, now: () => performance.now() });
  const meters = new CallMeters(metrics);
  const answers = new AnswerRoom({ ...defaultAnswerLimits, ...options.answerLimits }, metrics);
  const clients = new ClientCertificates({ trusted: () => certificates.trusted(), now: () => now().getTime(), metrics });
  const access = new AccessTable();
  const pipelineOptions: CallPipelineOptions = {
    tokens,
    authorizer,
    access,
    log,
    stopping,
    requestId: randomUUID,
    audit: options.audit,
    clients,
    meters,
    limits,
    answers,
    anonymous: new AnonymousCalls({ ...defaultAnonymousLimits, ...options.anonymousLimits }, metrics),
  };
  const pipeline = new CallPipeline(pipelineOptions);
  return { options: pipelineOptions, pipeline, access, accounts, tokens, clients, limits, meters };
}

interface Core {
  readonly verbs: Verbs;
  readonly tunnels: Tunnels;
  readonly streams: ItemStreams;
  readonly schedulers: SchedulerLinks;
}

/** What several services share. */
function createCore(options: ApiServerOptions, { pipeline, meters, limits: clients }: Calls): Core {
  const { registry, random, metrics } = options;
  const verbs = new Verbs({
    registry,
    random,
    watchLimits: { ...defaultWatchLimits, ...options.watchLimits },
    listLimits: { ...defaultListLimits, ...options.listLimits },
    metrics,
  });
  const limits = { ...defaultItemStreamLimits, ...options.itemStreamLimits };
  const streams = new ItemStreams({ pipeline, meters, clients, limits });
  return { verbs, tunnels: new Tunnels(randomUUID), streams, schedulers: new SchedulerLinks() };
}

/** The streams of pods. */
function podMethods(deps: ActionDeps, { tunnels, streams }: Core, pipeline: CallPipeline): SpecialMethods {
  return { ...bindStreamMethod(deps, streams), ...podStreamMethods(deps.registry.store('Pod'), tunnels, pipeline) };
}

/** The services that are of no kind. */
const coreNames: readonly string[] = [
  OBJECTS_SERVICE,
  TUNNEL_SERVICE,
  LOG_LEVELS_SERVICE,
  USAGE_HISTORIES_SERVICE,
  NET_CHECKS_SERVICE,
  BACKUP_SERVICE,
  SECRET_KEYS_SERVICE,
  PLACEMENTS_SERVICE,
  TOKEN_KEYS_SERVICE,
  CERTIFICATES_SERVICE,
  PAGES_SERVICE,
  EXTENSIONS_SERVICE,
];

function coreServices(
  options: ApiServerOptions,
  { verbs, tunnels, streams, schedulers }: Core,
  { pipeline, clients }: Calls,
): Served[] {
  const { registry, tokenKeys, certificates, log, now } = options;
  const nodeNames = () =>
    registry.stores
      .get('Node')
      ?.cache.range('')
      .map(({ key }) => placeOf(key).name) ?? [];
  return [
    objectsService({ registry, verbs, pipeline, streams, now }),
    tunnelService(tunnels, pipeline),
    logLevelsService({ tunnels, log, own: options.logLevel }, pipeline),
    usageHistoriesService({ tunnels, pods: registry.store('Pod') }, pipeline),
    netChecksService(tunnels, pipeline),
    placementsService({ registry, links: schedulers }, pipeline),
    backupService(options.backup, pipeline, now),
    tokenKeysService(tokenKeys, pipeline, now),
    secretKeysService({ keys: options.secretKeys, log, now }, pipeline),
    certificatesService({ certificates, clients, nodeNames, log }, pipeline),
  ];
}

interface Served {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** Absent where there are no service accounts, as in tests with few kinds. */
function accountTokens({ registry: { stores, store }, tokenKeys: keys, now }: ApiServerOptions): AccountTokens | undefined {
  const accounts = stores.get('ServiceAccount');
  return (
    accounts && new AccountTokens({ keys, accounts, pods: store('Pod'), secrets: store('Secret'), nodes: store('Node'), now })
  );
}
