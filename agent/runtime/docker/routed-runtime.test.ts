import { beforeEach, describe, expect, it } from 'vitest';
import { PortTakenError } from '../../host-ports/host-ports.ts';
import type { ContainerConfig, ObservedContainer, PortMapping, SandboxConfig } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { RoutedSandboxConfig } from './container-spec.ts';
import type { ContainerCalls } from './containers.ts';
import { type Held, type RoutedNetwork, withRoutedNetwork } from './routed-runtime.ts';

const configOf = (podUid: string, parts: Partial<SandboxConfig> = {}): SandboxConfig =>
  ({ identity: { podUid, attempt: 0 }, hostNetwork: false, portMappings: [], ...parts }) as unknown as SandboxConfig;

const mappingOf = (parts: Partial<PortMapping> = {}): PortMapping => ({
  ...{ containerPort: 80, hostPort: 8080, hostIP: '', protocol: 'tcp' },
  ...parts,
});

/** An engine that knows sandboxes alone, and a network that gives 10.0.0.1, 10.0.0.2 and so on. */
class World {
  readonly sandboxes: Map<string, ObservedContainer>;
  /** Whether the network is there. */
  isKnown = true;
  readonly held = new Map<string, string>();
  readonly log: string[] = [];
  /** Published ports of the machine, by holder. */
  readonly ports = new Map<string, { mappings: readonly PortMapping[]; address?: string }>();
  portError: NodeJS.ErrnoException | undefined;
  attachError: Error | undefined;
  joined: ReadonlySet<string> | undefined;
  isWanted = true;
  duringList = async (): Promise<void> => {};
  readonly calls: ReturnType<typeof withRoutedNetwork>;

  constructor(sandboxes = new Map<string, ObservedContainer>()) {
    this.sandboxes = sandboxes;
    this.calls = withRoutedNetwork(this.#engine(), this.#network(), {
      requireJoinable: async (handler) => {
        if (handler === 'kata') throw new RuntimeError('invalid', 'it would have no network');
      },
    });
  }

  #engine(): ContainerCalls {
    return {
      list: async () => {
        const all = [...this.sandboxes.values()];
        await this.duringList();
        return all;
      },
      runSandbox: async (
        { identity, address, ownPorts, portMappings }: RoutedSandboxConfig,
        onCreated?: (id: string) => void,
      ) => {
        onCreated?.(`id-${identity.podUid}`);
        if (portMappings.length > 0) this.log.push(`engine publishes ${portMappings.length}`);
        const parts = { ip: address, routed: true, hostPorts: ownPorts };
        const made = { ...identity, id: `id-${identity.podUid}`, state: 'running', pid: 7, ...parts };
        this.sandboxes.set(made.id, made as unknown as ObservedContainer);
        return made as unknown as ObservedContainer;
      },
      stop: async (id: string) => void this.sandboxes.set(id, { ...this.sandboxes.get(id)!, state: 'exited' }),
      remove: async (id: string) => void this.sandboxes.delete(id),
      runContainer: async () => ({ id: 'c' }),
    } as unknown as ContainerCalls;
  }

  #network(): RoutedNetwork {
    const world = this;
    let next = 0;
    return {
      get isWanted() {
        return world.isWanted;
      },
      take(holder) {
        const address = `10.0.0.${++next}`;
        world.held.set(address, holder);
        return address;
      },
      async attach(address) {
        if (world.attachError) throw world.attachError;
        world.log.push(`attach ${address}`);
      },
      ports: {
        async take(holder, mappings) {
          world.ports.set(holder, { mappings });
          if (world.portError) throw new PortTakenError(mappings[0]!, world.portError);
        },
        async publish(holder, address) {
          world.ports.set(holder, { ...world.ports.get(holder)!, address });
        },
        async restore(holder, address, mappings) {
          world.ports.set(holder, { mappings, address });
        },
        restored: () => {},
        withdraw: (holder) => void world.ports.delete(holder),
      },
      async release(address, holder) {
        if (world.held.get(address) === holder) world.held.delete(address);
      },
      holders: () => [...world.held.values()],
      async learn(used: readonly Held[], gone) {
        for (const { address, holder } of used) if (!world.held.has(address)) world.held.set(address, holder);
        for (const [address, holder] of world.held) if (gone.includes(holder)) world.held.delete(address);
      },
      joined: async (pods) => (world.isKnown ? (world.joined ?? new Set(pods.map(({ address }) => address))) : undefined),
    };
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

describe('a sandbox in the routed network', () => {
  it('has an address before it is made, and is joined before it is returned', async () => {
    expect(await world.calls.runSandbox(configOf('a'))).toMatchObject({ ip: '10.0.0.1', state: 'running' });
    expect(world.log).toEqual(['attach 10.0.0.1']);
    expect([...world.held]).toEqual([['10.0.0.1', 'a/0']]);
  });

  it('is told with its address before it runs, so that containers are created meanwhile', async () => {
    const told: string[] = [];
    await world.calls.runSandbox(configOf('a'), ({ id, ip }) => told.push(`${id} ${ip} ${world.log.length}`));
    expect(told).toEqual(['id-a 10.0.0.1 0']);
  });

  it.each([
    ['with a host port of IPv6', { portMappings: [mappingOf({ hostIP: '::1' })] }],
    ['with a host port of SCTP', { portMappings: [mappingOf({ protocol: 'sctp' })] }],
    ['in the network of the machine', { hostNetwork: true }],
  ])('is not made for a pod %s', async (_, parts) => {
    expect((await world.calls.runSandbox(configOf('a', parts))).ip).toBeUndefined();
    expect(world.held.size).toBe(0);
  });

  it('is not made of a runtime that would not see its network', async () => {
    const identity = { podUid: 'a', attempt: 0, runtimeHandler: 'kata' } as unknown as SandboxConfig['identity'];
    await expect(world.calls.runSandbox(configOf('a', { identity }))).rejects.toThrow('it would have no network');
    expect([world.sandboxes.size, world.held.size]).toEqual([0, 0]);
    expect((await world.calls.runSandbox(configOf('a', { identity, hostNetwork: true }))).state).toBe('running');
  });

  it('is removed, and its address free, when it cannot be joined', async () => {
    world.attachError = new Error('no such process');
    await expect(world.calls.runSandbox(configOf('a'))).rejects.toThrow(
      new RuntimeError('failed', 'join the pod to its network: no such process'),
    );
    expect([world.sandboxes.size, world.held.size]).toEqual([0, 0]);
  });

  it.each(['stop', 'remove'] as const)('gives its address back on %s', async (verb) => {
    const { id } = await world.calls.runSandbox(configOf('a'));
    await world.calls[verb](id, 1);
    expect(world.held.size).toBe(0);
  });
});

describe('ports of the machine', () => {
  const config = configOf('a', { portMappings: [mappingOf()] });

  it('are published by the agent, not by the engine', async () => {
    await world.calls.runSandbox(config);
    expect(world.log).toEqual(['attach 10.0.0.1']);
    expect([...world.ports]).toEqual([['a/0', { mappings: [mappingOf()], address: '10.0.0.1' }]]);
  });

  it('are taken before the sandbox is made, which fails where they are in use', async () => {
    world.portError = Object.assign(new Error('in use'), { code: 'EADDRINUSE' });
    await expect(world.calls.runSandbox(config)).rejects.toMatchObject({
      code: 'port-in-use',
      message: expect.stringContaining('host port 8080/TCP is in use on this machine'),
    });
    expect([world.sandboxes.size, world.ports.size]).toEqual([0, 0]);
  });

  it('at an address that the machine does not have fail the sandbox, and say so', async () => {
    world.portError = Object.assign(new Error('not available'), { code: 'EADDRNOTAVAIL' });
    await expect(world.calls.runSandbox(config)).rejects.toMatchObject({
      code: 'failed',
      message: expect.stringContaining('host port 8080/TCP: this machine has no such address'),
    });
  });

  it.each(['stop', 'remove'] as const)('are free again on %s', async (verb) => {
    const { id } = await world.calls.runSandbox(config);
    await world.calls[verb](id, 1);
    expect(world.ports.size).toBe(0);
  });

  it('are free again when the sandbox cannot be joined, or was removed by another program', async () => {
    world.attachError = new Error('no such process');
    await expect(world.calls.runSandbox(config)).rejects.toThrow();
    expect(world.ports.size).toBe(0);
    world.attachError = undefined;
    await world.calls.runSandbox(config);
    world.sandboxes.clear();
    await world.calls.list();
    expect(world.ports.size).toBe(0);
  });

  it('of a sandbox that ends while a list is read are not published again', async () => {
    const { id } = await world.calls.runSandbox(config);
    world.duringList = async () => {
      world.duringList = async () => {};
      await world.calls.remove(id);
    };
    await world.calls.list();
    expect([world.ports.size, world.held.size]).toEqual([0, 0]);
  });

  it('of sandboxes that an agent before made are published again', async () => {
    await world.calls.runSandbox(config);
    world.ports.clear();
    await world.calls.list();
    expect([...world.ports]).toEqual([['a/0', { mappings: [mappingOf()], address: '10.0.0.1' }]]);
  });
});

describe('a container', () => {
  const ran = { id: 'c' } as unknown as ObservedContainer;
  const run = (sandboxId: string) => world.calls.runContainer({ sandboxId } as unknown as ContainerConfig);

  it('starts in a sandbox of the agent before only when that is joined', async () => {
    // The agent before was killed between a start and the join.
    for (const [uid, address] of [
      ['a', '10.0.0.8'],
      ['b', '10.0.0.9'],
    ] as const) {
      const parts = { podUid: uid, attempt: 0, id: `id-${uid}`, state: 'running', pid: 7, ip: address, routed: true };
      world.sandboxes.set(`id-${uid}`, parts as unknown as ObservedContainer);
    }
    world.joined = new Set(['10.0.0.9']);
    await world.calls.list();
    await expect(run('id-a')).rejects.toThrow('its sandbox id-a does not run');
    expect(await run('id-b')).toEqual(ran);
  });

  it('waits while the network is not there', async () => {
    await world.calls.runSandbox(configOf('a'));
    const other = new World(world.sandboxes);
    other.isKnown = false;
    await other.calls.list();
    const started = other.calls.runContainer({ sandboxId: 'id-a' } as unknown as ContainerConfig);
    other.isKnown = true;
    other.joined = new Set(['10.0.0.1']);
    expect(await started).toEqual(ran);
  });
});

describe('a list', () => {
  it('shows a sandbox whose link is gone as ended, and others as they are', async () => {
    await world.calls.runSandbox(configOf('a'));
    await world.calls.runSandbox(configOf('b'));
    world.joined = new Set(['10.0.0.2']);
    const states = (await world.calls.list()).map(({ podUid, state, error }) => [podUid, state, error]);
    expect(states).toEqual([
      ['a', 'exited', 'its network is gone'],
      ['b', 'running', undefined],
    ]);
  });

  it('frees the address of a sandbox that another program removed', async () => {
    await world.calls.runSandbox(configOf('a'));
    world.sandboxes.clear();
    await world.calls.list();
    expect(world.held.size).toBe(0);
  });

  it('keeps the address of a sandbox that is made while it runs', async () => {
    await world.calls.list();
    world.duringList = async () => {
      world.duringList = async () => {};
      await world.calls.runSandbox(configOf('late'));
    };
    await world.calls.list();
    expect([...world.held.values()]).toEqual(['late/0']);
  });

  it('takes over the addresses of an agent before', async () => {
    await world.calls.runSandbox(configOf('a'));
    world.held.clear();
    await world.calls.list();
    expect([...world.held]).toEqual([['10.0.0.1', 'a/0']]);
  });
});
