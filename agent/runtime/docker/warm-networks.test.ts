import { describe, expect, it } from 'vitest';
import type { ContainerIdentity, ObservedContainer } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine, EngineCall } from './engine.ts';
import type { Inventory } from './inventory.ts';
import { createWarmNetworks, type WarmNetwork } from './warm-networks.ts';

const identity: ContainerIdentity = {
  podUid: 'u',
  podName: 'web',
  podNamespace: 'default',
  containerName: 'POD',
  attempt: 0,
  specHash: '',
  gracePeriodSeconds: 30,
};

interface Container {
  readonly id: string;
  name: string;
  state: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** An engine with these containers, each of which has a process with a network of its own while it runs. */
function setUp(containers: Container[], size = 0) {
  const removed: string[] = [];
  const pidOf = (id: string) => containers.findIndex((each) => each.id === id) + 1;
  const entries = (labels: readonly string[]) =>
    containers
      .filter(({ labels: own }) => labels.every((wanted) => wanted.includes('=') || own[wanted] !== undefined))
      .map(({ id, name, state, labels: Labels }) => ({ Id: id, Names: [`/${name}`], State: state, Image: 'pause:2', Labels }));
  const call = async ({ path, query }: EngineCall): Promise<unknown> => {
    if (path === '/containers/json') return entries((query as { filters: { label: string[] } }).filters.label);
    const [, , id = ''] = path.split('/');
    const found = containers.find((each) => each.id === id);
    if (found !== undefined && path.endsWith('/rename')) found.name = String(query?.name);
    return undefined;
  };
  const inspect = async (id: string) => ({
    State: { Pid: pidOf(id) },
    ResolvConfPath: `/engine/${id}/resolv.conf`,
    NetworkSettings: { SandboxKey: `/netns/${id}`, Networks: { bridge: { IPAddress: '172.17.0.9' } } },
  });
  const warnings: string[] = [];
  const networks = createWarmNetworks({
    engine: { call } as unknown as Engine,
    inventory: { inspect } as unknown as Inventory,
    nodeName: 'n1',
    remove: async (id) => void removed.push(id),
    oomScore: () => 0,
    warn: (message) => warnings.push(message),
    size,
    image: async () => 'pause:2',
    quietMs: 0,
    namespaceOf: async (pid) => (containers[pid - 1]?.state === 'running' ? `net:[${pid}]` : undefined),
  });
  const stop = new AbortController();
  const run = () => {
    const running = networks.run(stop.signal);
    return async () => {
      stop.abort();
      await running;
    };
  };
  return { networks, removed, warnings, run };
}

const free = (id: string, state = 'running'): Container => ({
  id,
  name: `berth_pool_${id}`,
  state,
  labels: { 'io.berth.pool': 'network' },
});
const sandbox = (network: WarmNetwork, more: Partial<ObservedContainer> = {}) =>
  ({ ...identity, id: 's', state: 'running', pid: network.pid, network: network.id, ...more }) as ObservedContainer;

/** The first one that was taken over from an agent before. */
async function claimed(networks: ReturnType<typeof setUp>['networks']) {
  for (;;) {
    const claim = await networks.claim(identity);
    if (claim !== undefined) return claim;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a network that waits', () => {
  it('is given away once, with the name of its pod, and goes with the sandbox that entered it', async () => {
    const containers = [free('a')];
    const { networks, run } = setUp(containers, 1);
    const stop = run();
    const { network, renamed } = await claimed(networks);
    expect(networks.waiting()).toBe(0);
    await renamed;
    expect(await networks.claim(identity)).toBeUndefined();
    expect(containers[0]?.name).toBe('berth_NETWORK_web_default_u_0');
    networks.enters(network, 's0');
    networks.enters(network, 's');
    await networks.use(network, sandbox(network));
    expect(await Promise.all(['s', 's0'].map((id) => networks.resolvConfOf(id)))).toEqual(['/engine/a/resolv.conf', undefined]);
    expect(networks.release('s')).toBe('a');
    expect(await networks.resolvConfOf('s')).toBeUndefined();
    await stop();
  });

  it('is passed over when its process has ended since, which speaks against no other', async () => {
    const containers = [free('a'), free('b')];
    const { networks, removed, warnings, run } = setUp(containers, 2);
    const stop = run();
    const first = await claimed(networks);
    const other = containers.find(({ id }) => id !== first.network.id);
    if (other !== undefined) other.state = 'exited';
    expect(await networks.claim(identity)).toBeUndefined();
    expect(removed).toEqual([other?.id]);
    expect(warnings).toEqual([]);
    await stop();
  });

  it('is removed when its agent stops', async () => {
    const { networks, removed, run } = setUp([free('a'), free('b')], 2);
    const stop = run();
    const { network } = await claimed(networks);
    await stop();
    expect(removed).toEqual(['a', 'b'].filter((id) => id !== network.id));
  });
});

describe('a sandbox', () => {
  const [ip, path, resolvConfPath] = ['172.17.0.9', '/netns/a', '/engine/a/resolv.conf'];
  const network: WarmNetwork = { id: 'a', ip, path, namespace: 'net:[1]', pid: 1, resolvConfPath };

  it("is known from the engine after a restart of the agent, and its network's files with it", async () => {
    const { networks } = setUp([free('a')]);
    networks.learn([sandbox(network)]);
    expect(await networks.resolvConfOf('s')).toBe('/engine/a/resolv.conf');
  });

  it('that is not used is forgotten, with its network', async () => {
    const { networks } = setUp([free('a')]);
    networks.enters(network, 's');
    await networks.spoilt(network, new RuntimeError('unavailable', 'no answer'));
    expect(networks.release('s')).toBeUndefined();
  });

  it('that ended instead of entering is not used', async () => {
    const { networks } = setUp([free('a')]);
    const ended = sandbox(network, { state: 'exited', pid: undefined });
    await expect(networks.use(network, ended)).rejects.toThrow('the sandbox of default/web did not enter its network');
  });

  it('is not used when the network was lost meanwhile', async () => {
    const { networks } = setUp([free('a', 'exited'), { ...free('s'), labels: {} }]);
    const inside = { ...network, namespace: 'net:[2]' };
    await expect(networks.use(inside, sandbox(inside, { pid: 2 }))).rejects.toThrow('the network is gone');
  });

  it('that fails three times in a row ends the making of networks, but not while the engine is away', async () => {
    const { networks, warnings, removed } = setUp([]);
    for (let count = 0; count < 5; count++) await networks.spoilt(network, new RuntimeError('unavailable', 'no answer'));
    expect(warnings).toEqual([]);
    for (let count = 0; count < 3; count++) await networks.spoilt(network, new RuntimeError('failed', 'not permitted'));
    expect(warnings.map((text) => text.includes('none are made any more'))).toEqual([false, false, true]);
    expect(removed).toHaveLength(8);
  });
});
