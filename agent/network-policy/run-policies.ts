import type { NetworkPolicy, Pod, PodAddressSlice } from '../../api/generated/types.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Client } from '../../client/client.ts';
import { type Clock, pause } from '../../client/clock.ts';
import { createEventRecorder } from '../../client/events/events.ts';
import { referenceTo } from '../../client/events/reference.ts';
import { createInformer, type Informer } from '../../client/informer/informer.ts';
import type { Logger } from '../../client/logger.ts';
import type { NftProcess } from '../nft/nft-process.ts';
import { keepPolicies, readKeptPolicies } from './kept-policies.ts';
import { registerPolicies } from './metrics.ts';
import type { ClosedPod } from './policy-content.ts';
import { PolicyFeed } from './policy-feed.ts';
import type { PolicyGate } from './policy-gate.ts';
import { createPolicyTable } from './policy-table.ts';
import { slimAddresses, slimPolicy } from './slim-objects.ts';

export interface PoliciesOptions {
  readonly client: Pick<Client, 'networkPolicies' | 'podAddressSlices' | 'events'>;
  readonly nodeName: string;
  readonly nodeDir: string;
  /** Tells installations on one machine apart. */
  readonly tag: string;
  /** This node's. */
  readonly pods: Informer<Pod>;
  readonly gate: PolicyGate;
  /** Asks the engine which addresses are in use; the gate is told. Others ask only once the server answers. */
  readonly look: () => Promise<unknown>;
  /** The node's own address in its range, where its resolver answers. */
  readonly gateway: string;
  /** The service address of the other nodes' resolvers. */
  readonly names: string;
  readonly metrics: MetricsRegistry;
  readonly nft: NftProcess;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** So long a server that does not answer is waited for before what an agent before knew is used. */
const keptAfterMs = 5_000;
/** Links of pods (`linkNameOf`). */
const podLinks = 'bth*';

/**
 * Carries network policies out on this node until aborted. What is in the kernel stays, and stays as it is until the
 * server has told all policies, or what was kept of them was read: until then new pods wait.
 */
export async function runPolicies(options: PoliciesOptions, signal: AbortSignal): Promise<void> {
  const { client, nodeName, nodeDir, tag, pods, gate, gateway, names, metrics, nft, clock, logger } = options;
  const base = { clock, logger };
  const policies = createInformer<NetworkPolicy>({
    ...{ ...base, client: client.networkPolicies, name: 'networkpolicies', transform: slimPolicy },
  });
  const slices = createInformer<PodAddressSlice>({
    ...{ ...base, client: client.podAddressSlices, name: 'podaddressslices', transform: slimAddresses },
  });
  const onClosed = closedTeller(options, policies);
  const table = createPolicyTable({ cluster: tag, node: nodeName, podLinks, gateway, names, nft, logger, onClosed });
  const feed: PolicyFeed = new PolicyFeed({ nodeName, policies, slices, pods, table, changed: () => kept.changed() });
  const kept = keepPolicies({ ...base, nodeDir, known: () => feed.known() });
  const leave = [feed.follow(), registerPolicies(metrics, () => table.figures())];
  gate.open({ feed, table, signal });
  const sources = [policies, slices, pods];
  const synced = Promise.all(sources.map((source) => source.waitForSync(signal)));
  const begin = async (): Promise<void> => {
    // Without it the pods that run would be in no policy.
    await gate.untilFound(options.look, signal);
    await Promise.race([synced, pause(keptAfterMs, signal, clock)]);
    if (!sources.every((source) => source.hasSynced())) {
      const before = await readKeptPolicies(nodeDir);
      if (before) feed.useKept(before);
      else await synced;
    }
    if (signal.aborted) return;
    // It also ends with the signal: then nothing is known to be gone.
    const isLive = sources.every((source) => source.hasSynced());
    if (isLive) feed.synced();
    else void synced.then(() => signal.aborted || feed.synced());
    await Promise.all([table.run(signal), kept.run(signal)]);
  };
  try {
    await Promise.all([policies.run(signal), slices.run(signal), begin()]);
  } finally {
    for (const each of leave) each();
  }
}

/** A pod that its policies close is told at each of them. */
function closedTeller({ client, nodeName, clock, logger }: PoliciesOptions, policies: Informer<NetworkPolicy>) {
  const events = createEventRecorder({ client: client.events, component: 'agent', host: nodeName, clock, logger });
  return ({ address, direction, policies: keys }: ClosedPod, words: string): void => {
    for (const policy of keys.map((key) => policies.lister.get(key)))
      if (policy)
        events.event(
          referenceTo('NetworkPolicy', policy),
          'Warning',
          'NetworkPolicyTooLarge',
          `pod ${address} on node ${nodeName}, ${direction}: ${words}`,
        );
  };
}
