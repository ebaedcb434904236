import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NodeNetwork } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFedSource } from '../../test/fakes/fed-source.ts';
import { NodePodNetwork } from './node-pod-network.ts';

let nodeDir: string;
beforeEach(() => {
  nodeDir = mkdtempSync(join(tmpdir(), 'berth-node-network-'));
});
afterEach(() => rmSync(nodeDir, { recursive: true, force: true }));

/** A machine that does what it is told, and has none of our ranges in use. */
async function run(script: string): Promise<string> {
  if (script.includes('echo ,')) return ',\n,\n,\n';
  if (script.startsWith('ip -json address')) return '[{"mtu":1500}]';
  return '';
}

const networkOf = (parts: Partial<NodeNetwork> = {}): NodeNetwork => ({
  ...{ metadata: { name: 'n1' }, podCIDRs: ['10.42.1.0/24'] },
  ...{ clusterCIDRs: ['10.42.0.0/16'], serviceCIDRs: ['10.43.0.0/16'], clusterDomain: 'cluster.local', ...parts },
});

it("is outdated while the cluster's ranges or domain differ from those that Services and names were started with", async () => {
  const [clock, logger, ending] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const networks = { ...createFedSource<NodeNetwork>(), waitForSync: async () => {} };
  const gate = { admit: async () => {}, left: () => {}, found: () => {} };
  const base = { nodeName: 'n1', dataDir: '/d', nodeDir, isWanted: true };
  const network = new NodePodNetwork({ ...base, networks, clock, logger, shell: { run }, gate });
  const running = network.run('10.0.0.1', ending.signal);
  const isOutdated = () => network.state().isOutdated;
  expect(isOutdated()).toBe(false);
  networks.set(networkOf());
  await expect.poll(() => network.state().domain).toBe('cluster.local');
  expect(isOutdated()).toBe(false);
  /** The agent gathers changes for a moment. */
  const become = async (outdated: boolean, parts: Partial<NodeNetwork>): Promise<void> => {
    networks.set(networkOf(parts));
    await expect
      .poll(async () => {
        await clock.advance(200);
        return isOutdated();
      })
      .toBe(outdated);
  };
  await become(true, { serviceCIDRs: ['10.44.0.0/16'] });
  expect(logger.lines.map(({ message }) => message).join()).toContain('restart the agent');
  await become(false, {});
  await become(true, { clusterDomain: 'other.local' });
  expect(network.state().domain).toBe('other.local');
  await become(false, {});
  await become(true, { clusterCIDRs: ['10.40.0.0/14'] });
  ending.abort();
  await running;
});
