import { setMaxListeners } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../api/generated/types.ts';
import { MetricsRegistry } from '../api/metrics/index.ts';
import { linkAbort } from '../client/abort.ts';
import { systemClock } from '../client/clock.ts';
import { createInformer } from '../client/informer/informer.ts';
import { readNodeConfig } from './config/node-config.ts';
import { keepCertificate } from './identity/keep-certificate.ts';
import { openPullRecords } from './images/pulled-images.ts';
import { measurePorts } from './metrics.ts';
import { createNetCheck } from './net-check/net-check.ts';
import { openPodNetwork } from './network.ts';
import { withNodeLock } from './node/node-lock.ts';
import type { AgentOptions } from './options.ts';
import { withDevices } from './pod/devices.ts';
import { openPorts } from './ports.ts';
import { serve } from './serve.ts';

export { type HeldCertificate, holdCertificate, readIdentity, saveIdentity } from './identity/held-certificate.ts';
export { requestCertificate } from './identity/request-certificate.ts';
export type { AgentOptions } from './options.ts';
export { preflight } from './preflight/preflight.ts';
export { lockUp } from './process-lock.ts';
export { preparePurge, purge } from './purge.ts';

const mostListeners = 1_000;

/**
 * Runs the agent of a node until the signal aborts; containers stay.
 * Rejects with a plain error when another live agent has the name.
 */
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
  const nodeConfig = await readNodeConfig(options.dataDir);
  const pullRecords = await openPullRecords(nodeDir, warn);
  const network = options.ports === undefined ? openPodNetwork(options) : undefined;
  const routed = network?.network;
  const ports = options.ports ?? (await openPorts({ ...options, routed, localPathFolder: nodeConfig.localPathFolder, warn }));
  const abort = linkAbort(signal);
  // Every loop and stream listens to it; the default of 10 would be called a leak.
  setMaxListeners(mostListeners, abort.signal);
  try {
    const inventory = withDevices(ports.inventory, nodeConfig.devices);
    const measured = measurePorts({ ...ports, inventory, images: pullRecords.recording(ports.images) }, metrics);
    const clock = options.clock ?? systemClock;
    const scope = { fieldSelector: `spec.nodeName=${nodeName}` };
    const pods = createInformer<Pod>({ client: options.client.pods, scope, name: 'pods', clock, logger });
    const own = {
      metrics,
      pods,
      clock,
      clusterNames: () => routed?.names(),
      drained: network?.drained,
      networkError: () => routed?.error,
      serviceLinks: network?.serviceLinks,
      netCheck: createNetCheck({
        ...{ nodeName, pods: pods.lister, network: routed, clock },
        serviceTable: () => network?.serviceTable(),
      }),
      ports: measured,
      pullRecords,
      nodeConfig,
    };
    const staticPodPath = options.staticPodPath ?? nodeConfig.staticPodPath;
    await Promise.all([
      serve({ ...options, ...own, staticPodPath }, abort.signal, abort.abort).finally(abort.abort),
      keepCertificate({ ...options, metrics, clock: own.clock }, abort.signal),
      network?.run({ inventory: ports.inventory, pods, metrics, look: () => ports.runtime.list() }, abort.signal),
    ]);
  } finally {
    abort.abort();
    abort.unlink();
    if (options.ports === undefined) ports.close();
  }
}
