import { setMaxListeners } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../api/generated/types.ts';
import { MetricsRegistry } from '../api/metrics/index.ts';
import { linkAbort } from '../client/abort.ts';
import { systemClock } from '../client/clock.ts';
import { createInformer } from '../client/informer.ts';
import { createObjectSource } from './config/objects.ts';
import { measurePorts, measureWorkers, relistMeter } from './metrics.ts';
import { createNodeLease, holderFacts, holderIdentity } from './node/node-lease.ts';
import { withNodeLock } from './node/node-lock.ts';
import { createNodeReporter } from './node/node-reporter.ts';
import type { AgentOptions } from './options.ts';
import { openPorts } from './ports.ts';
import { createStatusWriter } from './status/status-writer.ts';
import { runSyncLoop } from './sync-loop.ts';
import { packageVersion } from './version.ts';
import { untilSandboxImage, type Wiring, wireWorkers } from './wiring.ts';

export type { AgentOptions } from './options.ts';
export { preflight } from './preflight/preflight.ts';
export { lockUp } from './process-lock.ts';
export { preparePurge, purge } from './purge.ts';

const mostListeners = 1_000;

/** Runs the agent of a node until the signal aborts; containers stay. Rejects with a plain error when another live agent has the name. */
export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  const { nodeName } = options;
  const nodeDir = join(options.dataDir, 'node', nodeName);
  await mkdir(nodeDir, { recursive: true, mode: 0o700 });
  await withNodeLock({ nodeName, dataDir: options.dataDir, nodeDir }, async () => {
    options.locked?.();
    await runLocked({ ...options, nodeDir }, signal);
  });
}

async function runLocked(options: AgentOptions & { readonly nodeDir: string }, signal: AbortSignal): Promise<void> {
  const { nodeName, nodeDir, logger } = options;
  const warn = (message: string) => logger.warn({ node: nodeName }, message);
  const metrics = options.metrics ?? new MetricsRegistry();
  const ports = options.ports ?? (await openPorts({ nodeName, nodeDir, dockerSocket: options.dockerSocket, warn }));
  const abort = linkAbort(signal);
  // Every loop and stream listens to it; the default of 10 would be called a leak.
  setMaxListeners(mostListeners, abort.signal);
  try {
    const measured = measurePorts(ports, metrics);
    await serve({ ...options, metrics, ports: measured, clock: options.clock ?? systemClock }, abort.signal, abort.abort);
  } finally {
    abort.abort();
    abort.unlink();
    if (options.ports === undefined) ports.close();
  }
}

async function serve(wiring: Wiring & { readonly dataDir: string }, signal: AbortSignal, stop: () => void): Promise<void> {
  const { client, nodeName, logger, clock, metrics, ports, nodeDir } = wiring;
  const { runtime, images, usage, inventory, access, dialer, volumes } = ports;
  const holder = holderIdentity(inventory.nodeInfo.machineID ?? '', nodeDir);
  const lease = createNodeLease({
    client: client.leases,
    nodeName,
    holder,
    facts: holderFacts(wiring.dataDir),
    clock,
    logger,
  });
  await lease.acquire(signal);
  const pods = createInformer<Pod>({
    client: client.pods,
    scope: { fieldSelector: `spec.nodeName=${nodeName}` },
    name: 'pods',
    clock,
    logger,
  });
  const objects = createObjectSource({ configMaps: client.configMaps, secrets: client.secrets, clock });
  const status = createStatusWriter({ client: client.pods, current: (key) => pods.lister.get(key), clock, logger, metrics });
  const workers = wireWorkers(wiring, { status, objects }, signal);
  measureWorkers(metrics, workers.records);
  const containers = () => [...workers.records()].flatMap((record) => [...record.containers.values()]);
  const reporter = createNodeReporter({
    nodes: client.nodes,
    nodeMetrics: client.nodeMetrics,
    runtime,
    images,
    usage,
    containers,
    nodeName,
    inventory,
    agentVersion: packageVersion(),
    clock,
    logger,
  });
  const { logLevel } = wiring;
  const tunnel = { client: client.tunnel, access, dialer, get: workers.get, nodeName, logLevel, clock, logger };
  const loops = [
    lease.run(signal),
    reporter.register(signal).then(() => reporter.run(signal)),
    pods.run(signal),
    status.run(signal),
    untilSandboxImage(wiring, signal).then(() =>
      runSyncLoop({ runtime, workers, pods, volumes, objects, tunnel, meter: relistMeter(metrics), clock, logger }, signal),
    ),
  ];
  // One that fails for good ends them all, in order.
  const ends = loops.map((loop) =>
    loop.catch((error: unknown) => {
      stop();
      throw error;
    }),
  );
  for (const result of await Promise.allSettled(ends)) if (result.status === 'rejected') throw result.reason;
}
