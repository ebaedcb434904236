import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NodeNetwork } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFedSource } from '../../test/fakes/fed-source.ts';
import { NodePodNetwork } from './node-pod-network.ts';

let nodeDir: string;
beforeEach(() => {
  nodeDir = mkdtempSync(join(tmpdir(), 'berth-node-network-'));
  scripts = [];
});
afterEach(() => rmSync(nodeDir, { recursive: true, force: true }));

let scripts: string[] = [];
/** A machine that does what it is told, and has none of our ranges in use. */
async function run(script: string): Promise<string> {
  scripts.push(script);
  if (script.includes('echo ,')) return ',\n,\n,\n';
  if (script.startsWith('ip -json address')) return '[{"mtu":1500}]';
  return '';
}

const networkOf = (parts: Partial<NodeNetwork> = {}): NodeNetwork => ({
  ...{ metadata: { name: 'n1' }, podCIDRs: ['10.42.1.0/24'] },
  ...{ clusterCIDRs: ['10.42.0.0/16'], serviceCIDRs: ['10.43.0.0/16'], clusterDomain: 'cluster.local', ...parts },
});

function start(waitForSync: (signal: AbortSignal) => Promise<void> = async () => {}, known: readonly NodeNetwork[] = []) {
  const [clock, logger, ending] = [createFakeClock(), createFakeLogger(), new AbortController()];
  const networks = { ...createFedSource<NodeNetwork>(), waitForSync };
  for (const each of known) networks.set(each);
  const gate = { admit: async () => {}, left: () => {}, found: () => {} };
  const base = { nodeName: 'n1', dataDir: '/d', nodeDir, isWanted: true };
  const network = new NodePodNetwork({ ...base, networks, clock, logger, shell: { run }, gate });
  const running = network.run('10.0.0.1', ending.signal);
  const stop = (): Promise<void> => {
    ending.abort();
    return running;
  };
  return { network, networks, clock, logger, stop };
}

const keptFile = (): string => join(nodeDir, 'pod-network.json');
const rangeOf = (network: NodePodNetwork): string | undefined => network.state().plan?.range;

describe('an agent that starts with a range that was kept', () => {
  beforeEach(() => writeFileSync(keptFile(), '{"range":"10.42.9.0/24","address":"10.0.0.1"}'));

  it('moves to the one that the node has now, and removes what was in the one before', async () => {
    const { network, logger, stop } = start(undefined, [networkOf()]);
    await expect.poll(() => rangeOf(network)).toBe('10.42.1.0/24');
    expect(scripts.join('\n')).toContain('ip route delete unreachable 10.42.9.0/24');
    expect(logger.lines[0]?.message).toBe("the node's range is 10.42.1.0/24 now, not 10.42.9.0/24: its pods get other addresses");
    await expect.poll(() => existsSync(keptFile()) && readFileSync(keptFile(), 'utf8')).toContain('10.42.1.0/24');
    expect(network.error).toBe('');
    await stop();
  });

  const never = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  const atOnce = async (): Promise<void> => {};
  it.each<[string, typeof never, NodeNetwork[]]>([
    ['where the server does not answer within 5 s', never, []],
    ['where the server says the same', atOnce, [networkOf({ podCIDRs: ['10.42.9.0/24'] })]],
    ['where the server says none', atOnce, []],
  ])('stays in it %s', async (_, synced, known) => {
    const { network, clock, stop } = start(synced, known);
    await clock.advance(5_000);
    await expect.poll(() => rangeOf(network)).toBe('10.42.9.0/24');
    expect(scripts.join('\n')).not.toContain('delete unreachable');
    await stop();
  });

  it('waits for a node that is registered anew', async () => {
    const { network, networks, clock, stop } = start();
    await clock.advance(4_000);
    networks.set(networkOf());
    await expect.poll(() => rangeOf(network)).toBe('10.42.1.0/24');
    await stop();
  });

  it('says that it has to start again where the range changes while it runs', async () => {
    const { network, networks, clock, stop } = start(undefined, [networkOf({ podCIDRs: ['10.42.9.0/24'] })]);
    await expect.poll(() => rangeOf(network)).toBe('10.42.9.0/24');
    const error = async (): Promise<string | undefined> => {
      await clock.advance(200);
      return network.error;
    };
    networks.set(networkOf());
    await expect
      .poll(error)
      .toMatch(/^the node's range is 10\.42\.1\.0\/24 now, .* still in 10\.42\.9\.0\/24.*: restart the agent$/);
    expect([rangeOf(network), network.state().movedTo]).toEqual(['10.42.9.0/24', '10.42.1.0/24']);
    networks.set(networkOf({ podCIDRs: ['10.42.9.0/24'] }));
    await expect.poll(error).toBe('');
    await stop();
  });
});

it("is outdated while the cluster's ranges or domain differ from those that Services and names were started with", async () => {
  const { network, networks, clock, logger, stop } = start();
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
  await stop();
});
