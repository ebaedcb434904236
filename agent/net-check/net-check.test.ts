import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import type { NetworkState } from '../pod-network/node-pod-network.ts';
import type { Probe, ProbeResult } from './dns-probe.ts';
import { createNetCheck, type NetCheckOptions } from './net-check.ts';

const pod = (name: string, podIP: string, spec: Pod['spec'] = {}, phase = 'Running'): Pod => ({
  metadata: { namespace: 'a', name },
  spec: { containers: [{ name: 'c' }], ...spec },
  status: { podIP, phase },
});
const pods = [
  pod('routed', '10.42.1.7'),
  pod('old', '172.17.0.4'),
  pod('port', '172.17.0.5', { containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80, hostIP: '::1' }] }] }),
  pod('host', '10.0.0.1', { hostNetwork: true }),
  pod('done', '172.17.0.6', {}, 'Succeeded'),
  pod('waits', '', {}, 'Pending'),
];
const neighbour = (n: number, room: number) => ({
  ...{ name: `h${n}`, address: `10.0.0.${n}`, range: parseAddressRange(`10.42.${n}.0/24`), room },
});
const state: NetworkState = {
  plan: {
    ...{
      range: '10.42.1.0/24',
      gateway: '10.42.1.1',
      gatewayLink: 'bgw1',
      mtu: 1450,
      small: new Map([['h3', 1_400]]),
    },
    ...{
      neighbours: [neighbour(3, 1_500), neighbour(2, 1_450)],
      services: [],
      tunnel: 'bvx1',
      table: 'berth-1',
      hasForward: 'true',
    },
  },
  ...{ why: '', domain: 'example.org', refused: [], damaged: new Set() },
};

let asked: string[] = [];
let again: string[] = [];
const run = (change: Partial<NetCheckOptions> = {}, results: Record<string, ProbeResult['result']> = {}) => {
  [asked, again] = [[], []];
  const probe = async ({ address, name, packetSize = 0 }: Probe): Promise<ProbeResult> => {
    asked.push(`${name} at ${address} with ${packetSize}`);
    return { result: results[address] ?? 'answered', why: '' } as ProbeResult;
  };
  const shell = { run: async () => '1\n,\nyes\n,\n,\n,\n,\n' };
  const network = { isWanted: true, state: () => state, measureAgain: (names: readonly string[]) => again.push(...names) };
  const clock = createFakeClock();
  const options = { nodeName: 'h1', pods: { list: () => pods }, network, serviceTable: () => undefined, clock, shell, probe };
  const check = createNetCheck({ ...options, ...change });
  // Of an agent that has been running for long.
  clock.skew(60_000);
  return check(new AbortController().signal);
};

it("asks the node's resolver and those of the others by name, with large packets where small ones pass", async () => {
  const { peers } = await run({}, { '10.42.3.1': 'silent' });
  expect(asked.toSorted()).toEqual([
    'example.org at 10.42.1.1 with 0',
    'example.org at 10.42.2.1 with 0',
    'example.org at 10.42.2.1 with 1450',
    'example.org at 10.42.3.1 with 0',
  ]);
  expect(peers?.map(({ nodeName, reached }) => [nodeName, reached])).toEqual([
    ['h2', true],
    ['h3', false],
  ]);
});

it('has ways measured again that carry more, or less, than was measured', async () => {
  await run();
  expect(again).toEqual(['h3']);
  await run({}, { '10.42.3.1': 'silent' });
  expect(again).toEqual([]);
});

it('counts pods in the other network, and names those that need not be there', async () => {
  const { enginePods, items = [] } = await run();
  expect(enginePods).toBe(2);
  expect(items.find((item) => item.check === 'pods')?.problem).toMatch(/: a\/old$/);
});

it('says why the machine cannot be read', async () => {
  const shell = { run: () => Promise.reject(new Error('sh: nft: not found')) };
  expect((await run({ shell })).items).toMatchObject([{ check: 'network', ok: false, problem: expect.stringContaining('nft') }]);
});

it('asks nothing where there is no network yet', async () => {
  const none = { ...state, plan: undefined, why: 'it has no range' };
  const found = await run({ network: { isWanted: true, state: () => none, measureAgain: () => {} } });
  expect([asked, found.items?.[0]?.problem]).toEqual([[], 'it has no range']);
});

it.each([
  ['has never had the routed network', undefined, 3],
  ["is back in the engine's", { isWanted: false, state: () => state, measureAgain: () => {} }, 2],
] as const)('of a node that %s only counts pods', async (_, network, enginePods) => {
  expect(await run({ network })).toEqual({ nodeName: 'h1', podNetwork: 'engine', enginePods });
  expect(asked).toEqual([]);
});

describe('an agent that has just started', () => {
  const start = () => {
    const [clock, abort] = [createFakeClock(), new AbortController()];
    const address = JSON.stringify([{ addr_info: [{ local: '10.42.1.1' }] }]);
    const routes = JSON.stringify([{ dst: '10.42.1.0/24' }]);
    const printed = ['1', 'yes', 'table ip berth-1\ntable ip berth_1_0', address, routes, ''].join('\n,\n');
    const made: { state: NetworkState } = { state: { ...state, plan: undefined, why: 'it has no range yet' } };
    const network = { isWanted: true, state: () => made.state, measureAgain: () => {} };
    const whole = { ...state.plan!, range: '10.42.1.0/24', neighbours: [], small: new Map<string, number>() };
    const check = createNetCheck({
      ...{ nodeName: 'h1', pods: { list: () => [] }, network, clock, probe: async () => ({ result: 'answered' }) },
      serviceTable: () => ({ status: () => ({ table: 'berth_1_0', waiting: 0 }) }),
      shell: { run: async () => printed },
    });
    const found: (readonly (string | undefined)[])[] = [];
    const checked = check(abort.signal).then(({ items = [] }) => {
      found.push(items.filter(({ ok }) => !ok).map(({ problem }) => problem));
    });
    return { clock, abort, checked, found, ready: () => Object.assign(made, { state: { ...state, plan: whole } }) };
  };

  it('answers once its network is whole', async () => {
    const { clock, ready, found } = start();
    await clock.advance(3_000);
    expect(found).toEqual([]);
    ready();
    await clock.advance(500);
    expect(found).toEqual([[]]);
    expect(clock.pending).toBe(0);
  });

  it('tells what is missing ten seconds after its start', async () => {
    const { clock, found } = start();
    await clock.advance(9_500);
    expect(found).toEqual([]);
    await clock.advance(500);
    expect(found).toEqual([['it has no range yet']]);
  });

  it('ends with the call', async () => {
    const { clock, abort, checked } = start();
    await clock.advance(1_000);
    abort.abort();
    await checked;
    expect(clock.pending).toBe(0);
  });
});
