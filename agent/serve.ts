import type { Pod } from '../api/generated/types.ts';
import { isStatic } from '../api/kinds/pod/static-pods.ts';
import { claimsOf } from '../api/kinds/storage.ts';
import { objectKey } from '../api/meta/key.ts';
import type { Lister } from '../client/informer/indexer.ts';
import { createObjectSource } from './config/objects.ts';
import { imageDisk } from './images/collector.ts';
import { defaultRoot } from './local-path/made-folders.ts';
import { createVolumeReclaimer } from './local-path/volume-reclaimer.ts';
import { addFigurePages, measureWorkers, relistMeter } from './metrics.ts';
import { createNodeLease, holderFacts, holderIdentity } from './node/node-lease.ts';
import { createNodeReporter, type NodeReporter, type NodeReporterOptions } from './node/node-reporter.ts';
import { createNodeView } from './node/node-view.ts';
import { createManifestFolder } from './static-pods/folder.ts';
import { createStaticPods } from './static-pods/static-pods.ts';
import { createStatusWriter } from './status/status-writer.ts';
import { runSyncLoop } from './sync-loop.ts';
import { packageVersion } from './version.ts';
import { untilSandboxImage, type Wiring, wireEvents, wirePodVolumes, wireWorkers } from './wiring.ts';

/** Runs everything that an agent does, until the signal aborts. */
export async function serve(wiring: Wiring, signal: AbortSignal, stop: () => void): Promise<void> {
  // One that fails for good ends them all, in order.
  const ends = start(assemble(wiring, signal), wiring, signal).map((loop) =>
    loop.catch((error: unknown) => {
      stop();
      throw error;
    }),
  );
  for (const result of await Promise.allSettled(ends)) if (result.status === 'rejected') throw result.reason;
}

/** What is long-lived in an agent. Nothing of it runs yet. */
function assemble(wiring: Wiring, signal: AbortSignal) {
  const { client, nodeName, pods, logger, clock, metrics, ports, nodeDir } = wiring;
  const holder = holderIdentity(ports.inventory.nodeInfo.machineID ?? '', nodeDir);
  const facts = holderFacts(wiring.dataDir);
  // What is written again and again shares a stream: heartbeats, and of many statuses at once each, cost a fraction of
  // a call. Events have a stream of their own, so that a flood of them delays no heartbeat.
  const writer = client.bulkWriter({ signal });
  const node = createNodeView({ ...client.nodes, ...writer.resource('Node') }, nodeName);
  const leases = { ...client.leases, ...writer.resource('Lease') };
  const lease = createNodeLease({ client: leases, nodeName, node, holder, facts, clock, logger });
  const objects = createObjectSource({
    ...{ configMaps: client.configMaps, secrets: client.secrets, clock },
    authorities: () => wiring.held?.current().ca ?? wiring.authorities,
  });
  const current = (pod: Pod) => (isStatic(pod) ? statics.mirrorOf(pod) : pods.lister.get(objectKey(pod)));
  const podWrites = writer.resource('Pod');
  const status = createStatusWriter({ client: podWrites, current, clock, logger, metrics });
  const podVolumes = wirePodVolumes(wiring, objects, pods.lister);
  const events = wireEvents(wiring, signal);
  const gone = (podUid: string) => {
    statics.gone(podUid);
    podVolumes.forget(podUid);
  };
  const known = { status, objects, podVolumes, node, pods: pods.lister, podWrites, events, gone };
  const { workers, collector } = wireWorkers(wiring, known, signal);
  const statics = createStaticPods({
    folder: wiring.staticPodPath === undefined ? undefined : createManifestFolder(wiring.staticPodPath),
    ...{ client: client.pods, node, pods: pods.lister, nodeName, workers, events, clock, logger },
  });
  measureWorkers(metrics, workers.records);
  const containers = () => [...workers.records()].flatMap((record) => [...record.containers.values()]);
  addFigurePages(metrics, ports.usage, containers);
  const nodeMetrics = writer.resource('NodeMetrics', { answers: 'metadata' });
  const reporter = wireReporter(wiring, { nodes: node.client, nodeMetrics, lease, containers });
  const reclaimer = createVolumeReclaimer({
    ...{ client: client.persistentVolumes, nodeName, events, clock, logger },
    folders: { remove: (made) => ports.volumes.removeMadeFolder(made) },
    isInUse: (claim) => [...workers.records()].some(({ pod }) => pod && isForgotten(pod, pods.lister) && usesClaim(pod, claim)),
  });
  return { lease, status, podVolumes, workers, collector, statics, reporter, reclaimer };
}

type Reported = Pick<NodeReporterOptions, 'nodes' | 'nodeMetrics' | 'lease' | 'containers'>;

function wireReporter(wiring: Wiring, reported: Reported): NodeReporter {
  const { nodeName, ports, registration, clock, logger } = wiring;
  const { runtime, images, usage, inventory } = ports;
  return createNodeReporter({
    ...reported,
    ...{ runtime, images, imageDisk: imageDisk(runtime), usage },
    ...{ nodeName, inventory, registration, clock, logger, networkError: wiring.networkError },
    agentVersion: wiring.version ?? packageVersion(),
    localPathFolder: wiring.nodeConfig.localPathFolder ?? defaultRoot(wiring.nodeDir),
  });
}

/** Begins everything, each when what it needs is there. */
function start(parts: ReturnType<typeof assemble>, wiring: Wiring, signal: AbortSignal): Promise<unknown>[] {
  const { lease, status, podVolumes, workers, collector, statics, reporter, reclaimer } = parts;
  const { client, nodeName, pods, logger, clock, metrics, ports, logLevel } = wiring;
  const { runtime, usage, access, dialer, volumes } = ports;
  const uidHere = (uid: string) => statics.uidHere(uid);
  const { netCheck } = wiring;
  const streams = { access, dialer, history: usage.history, netCheck, metrics, get: workers.get, uidHere, logLevel };
  const tunnel = { client: client.tunnel, ...streams, logFolder: ports.logFolder, nodeName, clock, logger };
  const isContested = () => lease.isContested();
  const looped = { runtime, workers, statics, isContested, pods, volumes, podVolumes, clock, logger };
  const hasSandboxImage = untilSandboxImage(wiring, signal);
  // The agent runs the API's pods only once it holds the node's lease; static pods wait for that only while another
  // agent may have the name.
  const leased = lease.acquire(signal);
  return [
    leased.then(() => lease.run(signal)),
    leased.then(() => reporter.register(signal)).then(() => reporter.run(signal)),
    leased.then(() => pods.run(signal)),
    status.run(signal),
    pods.waitForSync(signal).then(() => reclaimer.run(signal)),
    pods.waitForSync(signal).then(() => collector.run(signal)),
    hasSandboxImage.then(() => runSyncLoop({ ...looped, tunnel, meter: relistMeter(metrics) }, signal)),
  ];
}

/** Whether the API has the pod no more, while it still runs here. */
const isForgotten = (pod: Pod, known: Lister<Pod>): boolean => known.get(objectKey(pod))?.metadata?.uid !== pod.metadata?.uid;

const usesClaim = (pod: Pod, claim: string): boolean =>
  claimsOf(pod).some((name) => `${pod.metadata?.namespace}/${name}` === claim);
