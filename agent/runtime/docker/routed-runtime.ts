import { setTimeout as delay } from 'node:timers/promises';
import { type HostPorts, PortTakenError } from '../../host-ports/host-ports.ts';
import { canPublish } from '../../host-ports/table-service.ts';
import type { JoiningPod } from '../../pod-network/link-gate.ts';
import { wordsOf } from '../../words-of.ts';
import type { ContainerRuntime, CreatedSandbox, ObservedContainer, PortMapping, SandboxConfig } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { ContainerCalls } from './containers.ts';
import { portUnavailable } from './ports.ts';
import type { RuntimeHandlers } from './runtime-handlers.ts';

/** An address and the sandbox that has it: the pod's uid and the sandbox's attempt. */
export interface Held {
  readonly address: string;
  readonly holder: string;
}

/** The network that the agent itself joins sandboxes to. */
export interface RoutedNetwork {
  /** Whether new sandboxes are to be in it. */
  readonly isWanted: boolean;
  /** An address for this sandbox alone. Throws an Error that says why there is none. */
  take(holder: string): string;
  /** Ports of the machine that lead to sandboxes in it. */
  readonly ports: Pick<HostPorts, 'take' | 'publish' | 'restore' | 'restored' | 'withdraw'>;
  /** Joins the sandbox with this process. When it returns, it can be reached. */
  attach(address: string, pid: number, pod: JoiningPod): Promise<void>;
  /** The sandbox has ended: its address is free, now or with the next full list. Never throws. */
  release(address: string, holder: string): Promise<void>;
  /** Who holds an address now. */
  holders(): readonly string[];
  /** Addresses in use, by the engine; and holders of before the list that it does not name. Never throws. */
  learn(used: readonly Held[], gone: readonly string[]): Promise<void>;
  /** The addresses of those that are joined now; undefined where that cannot be said. */
  joined(
    sandboxes: readonly { readonly address: string; readonly pid: number | undefined }[],
  ): Promise<ReadonlySet<string> | undefined>;
}

/**
 * The engine's calls, with sandboxes that the agent joins to a network of its own. The engine is asked for none; the
 * address stands in a label, so that it is known again whatever happens to the agent. It is known before the sandbox
 * runs, so that containers are created while it starts.
 *
 * Pods with ports of the machine for SCTP or at IPv6 addresses stay in the engine's network, which alone publishes
 * them.
 */
export function withRoutedNetwork(
  calls: ContainerCalls,
  network: RoutedNetwork,
  handlers: Pick<RuntimeHandlers, 'requireJoinable'>,
): Calls {
  const routed = new RoutedSandboxes(calls, network);
  const run: Calls['runSandbox'] = async (config, onCreated) => {
    await handlers.requireJoinable(config.identity.runtimeHandler);
    return routed.run(config, onCreated);
  };
  return {
    ...calls,
    list: (podUid) => routed.list(podUid),
    runSandbox: (config, onCreated) =>
      network.isWanted && !config.hostNetwork && config.portMappings.every(canPublish)
        ? run(config, onCreated)
        : calls.runSandbox(config),
    async runContainer(config, createdId) {
      await routed.verify(config.sandboxId);
      return calls.runContainer(config, createdId);
    },
    async stop(id, gracePeriodSeconds) {
      await calls.stop(id, gracePeriodSeconds);
      await routed.leave(id);
    },
    remove: (id) => routed.remove(id),
  };
}

/** All sandboxes in the engine's network: their addresses are not known before they run. */
export const withEngineNetwork = (calls: ContainerCalls): Calls => ({
  ...calls,
  runSandbox: (config) => calls.runSandbox(config),
});

type Calls = Omit<ContainerRuntime, 'events'>;
type OnCreated = (sandbox: CreatedSandbox) => void;

class RoutedSandboxes {
  readonly #calls: ContainerCalls;
  readonly #network: RoutedNetwork;
  /** By the sandbox's id. */
  readonly #held = new Map<string, Held>();
  readonly #beingMade = new Set<string>();
  /** Ids of sandboxes that were seen joined. */
  readonly #joined = new Set<string>();
  /** Ids of sandboxes that ended while a list was read that may still name them. */
  readonly #left = new Set<string>();
  #listing = 0;
  /** Addresses in use have to be known before one is given. */
  #learned: Promise<unknown> | undefined;

  constructor(calls: ContainerCalls, network: RoutedNetwork) {
    this.#calls = calls;
    this.#network = network;
  }

  async run(config: SandboxConfig, onCreated?: OnCreated): Promise<ObservedContainer> {
    const holder = holderOf(config.identity);
    this.#beingMade.add(holder);
    try {
      return await this.#make(config, holder, onCreated);
    } finally {
      this.#beingMade.delete(holder);
    }
  }

  async #make(config: SandboxConfig, holder: string, onCreated?: OnCreated): Promise<ObservedContainer> {
    this.#learned ??= this.list().catch((error: unknown) => {
      this.#learned = undefined;
      throw error;
    });
    await this.#learned;
    const ownPorts = config.portMappings;
    await this.#takePorts(config, holder);
    const sandbox = await this.#runHolding({ ...config, portMappings: [], ownPorts }, holder, onCreated);
    const address = sandbox.ip;
    if (address === undefined || sandbox.state !== 'running' || sandbox.pid === undefined) return sandbox;
    try {
      await this.#network.attach(address, sandbox.pid, joiningOf(config));
      await this.#network.ports.publish(holder, address);
    } catch (error) {
      await this.remove(sandbox.id);
      throw new RuntimeError('failed', `join the pod to its network: ${wordsOf(error)}`, { cause: error });
    }
    this.#joined.add(sandbox.id);
    return sandbox;
  }

  /**
   * Returns once a sandbox that another agent made is known to be joined: that agent may have been killed between its
   * start and the join. Where this is not known within 30 s, as when the network cannot be made, the sandbox is taken
   * for joined. Throws for one that does not run, as one that is not joined reads.
   */
  async verify(sandboxId: string): Promise<void> {
    const until = performance.now() + verifyTimeoutMs;
    while (this.#held.has(sandboxId) && !this.#joined.has(sandboxId) && performance.now() < until) {
      const sandbox = (await this.list()).find(({ id }) => id === sandboxId);
      if (sandbox?.state !== 'running')
        throw new RuntimeError('failed', `start a container: its sandbox ${sandboxId} does not run`);
      if (!this.#joined.has(sandboxId)) await delay(verifyPauseMs);
    }
  }

  /** The ports are free again where no sandbox comes of it. */
  async #runHolding(
    config: SandboxConfig & { readonly ownPorts: readonly PortMapping[] },
    holder: string,
    onCreated?: OnCreated,
  ): Promise<ObservedContainer> {
    try {
      const address = this.#take(holder);
      const sandbox = await this.#calls.runSandbox({ ...config, address }, (id) => onCreated?.({ id, ip: address }));
      this.#held.set(sandbox.id, { address, holder });
      return { ...sandbox, ip: address };
    } catch (error) {
      this.#network.ports.withdraw(holder);
      throw error;
    }
  }

  async #takePorts({ identity, portMappings }: SandboxConfig, holder: string): Promise<void> {
    try {
      await this.#network.ports.take(holder, portMappings);
    } catch (error) {
      // Also those that passed over from the pod's sandbox before.
      this.#network.ports.withdraw(holder);
      if (!(error instanceof PortTakenError)) throw error;
      throw portUnavailable(identity, error);
    }
  }

  #take(holder: string): string {
    try {
      return this.#network.take(holder);
    } catch (error) {
      throw new RuntimeError('failed', wordsOf(error), { cause: error });
    }
  }

  async list(podUid?: string): Promise<ObservedContainer[]> {
    this.#listing += 1;
    try {
      return await this.#list(podUid);
    } finally {
      this.#listing -= 1;
      if (this.#listing === 0) this.#left.clear();
    }
  }

  async #list(podUid?: string): Promise<ObservedContainer[]> {
    // What begins meanwhile may be missing from the answer.
    const settled = this.#network.holders().filter((holder) => !this.#beingMade.has(holder));
    const all = await this.#calls.list(podUid);
    const routed = all.filter((container) => container.routed === true && container.ip !== undefined);
    for (const each of routed) this.#held.set(each.id, { address: each.ip!, holder: holderOf(each) });
    if (podUid === undefined) await this.#learn(routed, settled);
    const running = routed.filter(({ state }) => state === 'running');
    if (running.length === 0) return all;
    const joined = await this.#network.joined(running.map(({ ip, pid }) => ({ address: ip!, pid })));
    if (joined === undefined) return all;
    // A sandbox that runs without its network (the agent was killed before it was joined) cannot hold a pod.
    for (const each of running) if (joined.has(each.ip!)) this.#joined.add(each.id);
    const lost = new Set(running.filter((each) => !joined.has(each.ip!) && !this.#beingMade.has(holderOf(each))));
    return all.map((each) => (lost.has(each) ? asEnded(each) : each));
  }

  async #learn(routed: readonly ObservedContainer[], settled: readonly string[]): Promise<void> {
    const alive = routed.filter((each) => isAlive(each) && !this.#left.has(each.id));
    const used = alive.map((each) => ({ address: each.ip!, holder: holderOf(each) }));
    const known = new Set(used.map(({ holder }) => holder));
    const { ports } = this.#network;
    const gone = settled.filter((holder) => !known.has(holder));
    for (const holder of gone) ports.withdraw(holder);
    for (const { hostPorts = [], ip, ...each } of alive) {
      const holder = holderOf(each);
      const isStill = !this.#beingMade.has(holder) && !this.#left.has(each.id);
      if (hostPorts.length > 0 && isStill) await ports.restore(holder, ip!, hostPorts);
    }
    ports.restored();
    await this.#network.learn(used, gone);
  }

  async leave(id: string): Promise<void> {
    if (this.#listing > 0) this.#left.add(id);
    const held = this.#held.get(id);
    this.#held.delete(id);
    this.#joined.delete(id);
    if (held === undefined) return;
    this.#network.ports.withdraw(held.holder);
    await this.#network.release(held.address, held.holder);
  }

  async remove(id: string): Promise<void> {
    await this.#calls.remove(id);
    await this.leave(id);
  }
}

const holderOf = ({ podUid, attempt }: { readonly podUid: string; readonly attempt: number }): string => `${podUid}/${attempt}`;

const joiningOf = ({ identity, labels, namedPorts }: SandboxConfig): JoiningPod => ({
  ...{ uid: identity.podUid, namespace: identity.podNamespace, labels, ports: namedPorts },
});

const isAlive = ({ state }: ObservedContainer): boolean => state === 'running' || state === 'created';

const killedBySignal = 137;
const verifyTimeoutMs = 30_000;
const verifyPauseMs = 250;
const asEnded = (container: ObservedContainer): ObservedContainer => ({
  ...container,
  state: 'exited',
  finishedAt: new Date(),
  exitCode: killedBySignal,
  error: 'its network is gone',
});
