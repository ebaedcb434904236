import { join } from 'node:path';
import type { Pod } from '../api/generated/types.ts';
import { isFinished } from '../api/kinds/pod/lifecycle.ts';
import { resourceAmounts } from '../api/kinds/pod/resources.ts';
import type { LogLevelControl } from '../api/meta/log-level.ts';
import type { MetricsRegistry } from '../api/metrics/index.ts';
import { createBackoff } from '../client/backoff.ts';
import type { Client } from '../client/client.ts';
import { type Clock, pause } from '../client/clock.ts';
import { createEventRecorder, type EventRecorder } from '../client/events/events.ts';
import type { Lister } from '../client/informer/indexer.ts';
import type { Informer } from '../client/informer/informer.ts';
import type { Logger } from '../client/logger.ts';
import type { ResourceClient } from '../client/services/resource-client.ts';
import { createTokenSource } from './config/account-tokens.ts';
import { createClaimSource } from './config/claims.ts';
import type { Allocatable } from './config/downward.ts';
import { createKnownObjects } from './config/known-objects.ts';
import type { NodeConfig } from './config/node-config.ts';
import type { ObjectSource } from './config/objects.ts';
import { type ClusterNames, computeApiAddress } from './config/resolv-conf.ts';
import { createSecuritySource } from './config/security-facts.ts';
import type { HeldCertificate } from './identity/held-certificate.ts';
import type { ImageCollector } from './images/collector.ts';
import type { ImageOptions } from './images/options.ts';
import type { PullRecords } from './images/pulled-images.ts';
import { imagesOf, wireImages } from './images/wiring.ts';
import { createLimit } from './limit.ts';
import { isAppArmorEnabled } from './machine/app-armor.ts';
import { createOomGroups } from './machine/cgroups/oom-group.ts';
import type { MachineInventory } from './machine/inventory.ts';
import { readMemoryUsage } from './machine/memory-usage.ts';
import type { NetCheckSource } from './net-check/net-check.ts';
import type { NodeView } from './node/node-view.ts';
import type { NodeRegistration } from './options.ts';
import { withSandboxImage } from './pause/held-image.ts';
import { ownSandboxImage } from './pause/sandbox-image.ts';
import { createAdmit } from './pod/admit.ts';
import { backOffUpTo, restartBackOff } from './pod/back-off.ts';
import { createDeviceBook } from './pod/devices.ts';
import { createPodEvents } from './pod/pod-events.ts';
import { createPodWorkers, type PodWorkers } from './pod/pod-workers.ts';
import { createResizer } from './pod/resize.ts';
import type { ServiceLinkSource } from './pod/start-container.ts';
import { createStarter } from './pod/start-containers.ts';
import { createStopper, type Drained } from './pod/stop-containers.ts';
import { createTerminationMessages } from './pod/termination-messages.ts';
import type { AgentPorts } from './ports.ts';
import { createCheck } from './probes/check.ts';
import { createHooks } from './probes/hooks.ts';
import { createProbes } from './probes/probes.ts';
import type { ContainerRuntime, ObservedContainer } from './runtime/runtime.ts';
import { createStatusReport } from './status/status-report.ts';
import type { StatusWriter } from './status/status-writer.ts';
import { createEtcFiles } from './volumes/etc-files.ts';
import { createPodVolumes, type PodVolumes } from './volumes/pod-volumes.ts';

/** What the parts of an agent are made from. */
export interface Wiring {
  readonly client: Client;
  readonly nodeName: string;
  /** The node's, as the server has them. */
  readonly pods: Informer<Pod>;
  /** Where the node's pods find the names of the cluster; undefined where nothing answers them. */
  readonly clusterNames: () => ClusterNames | undefined;
  readonly drained?: Drained;
  /** See NodeFacts. */
  readonly networkError?: () => string | undefined;
  readonly serviceLinks?: ServiceLinkSource | undefined;
  readonly netCheck: NetCheckSource;
  readonly sandboxImage?: string | undefined;
  readonly nodeConfig: NodeConfig;
  readonly maxContainerRestartMs?: number | undefined;
  readonly registration?: NodeRegistration | undefined;
  /** What the agent says it is; this program's version where it is not said. */
  readonly version?: string;
  readonly held?: HeldCertificate | undefined;
  readonly authorities?: string | undefined;
  readonly logger: Logger;
  readonly logLevel?: LogLevelControl | undefined;
  readonly metrics: MetricsRegistry;
  readonly ports: AgentPorts;
  /** Berth's data directory, and the agent's own in it. */
  readonly dataDir: string;
  readonly nodeDir: string;
  readonly pullRecords: PullRecords;
  readonly imageOptions?: ImageOptions | undefined;
  readonly staticPodPath?: string | undefined;
  readonly clock: Clock;
}

/**
 * Calls that make the engine work at once. More do not go faster, they only make each other wait
 * (FIELD.md: the floor is 8).
 */
const engineCalls = 8;

interface Parts {
  readonly status: StatusWriter;
  readonly objects: ObjectSource;
  readonly podVolumes: PodVolumes;
  readonly node: NodeView;
  readonly pods: Pick<Lister<Pod>, 'list'>;
  readonly podWrites: Pick<ResourceClient<Pod>, 'delete'>;
  readonly events: EventRecorder;
  gone(podUid: string): void;
}

interface Wired {
  readonly workers: PodWorkers;
  readonly collector: ImageCollector;
}

/** The node's allocatable resources, the default limits of the downward API. */
function allocatableOf({ allocatable }: Pick<MachineInventory, 'allocatable'>): Allocatable {
  const { cpu = 0, memory = 0 } = resourceAmounts(allocatable);
  return { cpuMilli: cpu, memoryBytes: memory };
}

/** No person notices; what a pod's start tells comes within it. */
const eventGatherMs = 20;

/** Tells people what happens on this node. */
export function wireEvents({ client, nodeName, clock, logger }: Wiring, signal: AbortSignal): EventRecorder {
  // Every pod that starts is a few of them: they travel together, and no more than their names come back.
  const writer = client.bulkWriter({ answers: 'metadata', signal });
  const written = { client: writer.resource('Event'), gatherMs: eventGatherMs };
  return createEventRecorder({ ...written, component: 'kubelet', host: nodeName, clock, logger });
}

/** The pods' volumes with everything that they are made from. Starts nothing. */
export function wirePodVolumes({ client, nodeName, ports, clock }: Wiring, objects: ObjectSource, pods: Lister<Pod>): PodVolumes {
  const { persistentVolumeClaims: claims, persistentVolumes: volumes, nodes } = client;
  const source = createClaimSource({ claims, volumes, nodes, nodeName, pods, clock });
  const tokens = createTokenSource({ accounts: client.serviceAccounts, clock });
  return createPodVolumes({
    ...{ volumes: ports.volumes, objects, claims: source, tokens },
    allocatable: allocatableOf(ports.inventory),
  });
}

/** Wires the pod workers, their dependencies, and garbage collection. Starts nothing. */
export function wireWorkers(
  wiring: Wiring,
  { status, objects, podVolumes, node, pods, podWrites, events: recorder, gone }: Parts,
  signal: AbortSignal,
): Wired {
  const { client, logger, clock, ports, metrics, sandboxImage = ownSandboxImage } = wiring;
  const { volumes, inventory } = ports;
  const warn = (message: string) => logger.warn({}, message);
  const runtime = withOomGroups(withSandboxImage(ports.runtime, ports.sandboxImage), createOomGroups({ warn }));
  const events = createPodEvents(recorder);
  const limit = createLimit(engineCalls);
  const amounts = resourceAmounts(inventory.allocatable);
  const hostIP = inventory.addresses.find(({ type }) => type === 'InternalIP')?.address ?? '';
  const allocatable = allocatableOf(inventory);
  const podDir = (podUid: string) => volumes.podDir(podUid);
  const messages = createTerminationMessages({ podDir, access: ports.access, logger });
  // The API's pods, and those that only this node knows.
  const known = () => [...pods.list(), ...[...workers.records()].flatMap(({ pod }) => pod ?? [])];
  const wanted = () => known().flatMap((pod) => (isFinished(pod) ? [] : imagesOf(pod)));
  const { images, credentials, collector } = wireImages(wiring, { objects, events: recorder, wanted }, signal);
  const running = () => [...workers.records()].flatMap(({ containers }) => [...containers.values()]);
  const security = createSecuritySource({
    images: ports.images,
    seccompDir: join(wiring.dataDir, 'seccomp'),
    runtimeClasses: createKnownObjects(client.runtimeClasses, clock),
    devices: createDeviceBook(wiring.nodeConfig.devices, running),
    etcFiles: createEtcFiles({ podDir, clusterNames: wiring.clusterNames }),
    events,
  });
  const starter = createStarter({
    ...{ runtime, images, credentials, objects, security, podVolumes, messages, events, clock, limit },
    ...{ sandboxImage, hostIP, allocatable, serviceLinks: wiring.serviceLinks },
    apiAddress: (pod) => computeApiAddress(pod, wiring.clusterNames()),
  });
  const memoryUsage = ports.memoryUsage ?? readMemoryUsage;
  const resizer = createResizer({ runtime, events, clock, allocatable: amounts, memoryUsage });
  const { commands } = ports;
  const hooks = createHooks({ commands, events, hostIP, clock, logger });
  const { preStop } = hooks;
  const check = createCheck(commands);
  const look = (podUid: string) => workers.look(podUid);
  const health = createProbes({ check, hooks, events, hostIP, clock, random: Math.random, look });
  const backOff = wiring.maxContainerRestartMs === undefined ? restartBackOff : backOffUpTo(wiring.maxContainerRestartMs);
  const report = createStatusReport({ writer: status, events, health, backOff, hostIP, clock });
  const stopper = createStopper({
    ...{ runtime, pods: podWrites, volumes, report, events, preStop, clock, limit },
    drained: wiring.drained,
  });
  const isolation = { appArmor: isAppArmorEnabled(), allowedUnsafeSysctls: wiring.nodeConfig.allowedUnsafeSysctls };
  const admit = createAdmit({ allocatable: amounts, isolation, node, events });
  const workers = createPodWorkers({
    runtime,
    starter,
    stopper,
    report,
    events,
    clock,
    logger,
    metrics,
    admit,
    health,
    backOff,
    resizer,
    messages,
    gone,
  });
  return { workers, collector };
}

/** A container that has started is killed as a whole when it runs out of memory, where the kernel can do that. */
function withOomGroups(runtime: ContainerRuntime, group: (container: ObservedContainer) => boolean): ContainerRuntime {
  return {
    ...runtime,
    async runContainer(config, createdId) {
      const made = await runtime.runContainer(config, createdId);
      group(made);
      return made;
    },
  };
}

/** Returns when the sandbox image is on the machine, or on abort. */
export async function untilSandboxImage({ ports, clock, logger }: Wiring, signal: AbortSignal): Promise<void> {
  const backoff = createBackoff({ maxMs: 10_000 });
  while (!signal.aborted) {
    try {
      await ports.sandboxImage.id();
      return;
    } catch (err) {
      logger.warn({ err }, 'cannot get the sandbox image ready, will retry');
      await pause(backoff.next(), signal, clock);
    }
  }
}
