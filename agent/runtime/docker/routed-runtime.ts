import type { ObservedContainer, SandboxConfig } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { ContainerCalls } from './containers.ts';

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
  /** Joins the sandbox with this process. When it returns, it can be reached. */
  attach(address: string, holder: string, pid: number): Promise<void>;
  /** The sandbox has ended: its address is free. */
  release(address: string, holder: string): Promise<void>;
  /** Who holds an address now. */
  holders(): readonly string[];
  /** Addresses in use, by the engine; and who held one before it was asked, and holds none any more. */
  learn(used: readonly Held[], gone: readonly string[]): Promise<void>;
  /** The addresses of those that are joined now; undefined where that cannot be said. */
  joined(
    sandboxes: readonly { readonly address: string; readonly pid: number | undefined }[],
  ): Promise<ReadonlySet<string> | undefined>;
}

/**
 * The engine's calls, with sandboxes that the agent joins to a network of its own. The engine is asked for none; the
 * address stands in a label, so that it is known again whatever happens to the agent.
 *
 * Pods with ports of the machine stay in the engine's network, which alone can publish them.
 */
export function withRoutedNetwork(calls: ContainerCalls, network: RoutedNetwork): ContainerCalls {
  const addresses = new Map<string, Held>();
  let learned: Promise<unknown> | undefined;

  async function runRouted(config: SandboxConfig, onCreated?: (id: string) => void): Promise<ObservedContainer> {
    learned ??= list().catch((error: unknown) => {
      learned = undefined;
      throw error;
    });
    await learned;
    const holder = holderOf(config.identity);
    const address = take(holder);
    const sandbox = await calls.runSandbox({ ...config, address }, onCreated);
    addresses.set(sandbox.id, { address, holder });
    if (sandbox.state !== 'running' || sandbox.pid === undefined) return sandbox;
    try {
      await network.attach(address, holder, sandbox.pid);
    } catch (error) {
      await remove(sandbox.id);
      throw new RuntimeError('failed', `join the pod to its network: ${wordsOf(error)}`, { cause: error });
    }
    return { ...sandbox, ip: address };
  }

  function take(holder: string): string {
    try {
      return network.take(holder);
    } catch (error) {
      throw new RuntimeError('failed', wordsOf(error), { cause: error });
    }
  }

  async function list(podUid?: string): Promise<ObservedContainer[]> {
    // What begins meanwhile may be missing from the answer.
    const settled = network.holders().filter((holder) => !beingMade.has(holder));
    const all = await calls.list(podUid);
    const routed = all.filter((container) => container.routed === true && container.ip !== undefined);
    for (const each of routed) addresses.set(each.id, { address: each.ip!, holder: holderOf(each) });
    if (podUid === undefined) {
      const used = routed.filter(isAlive).map((each) => ({ address: each.ip!, holder: holderOf(each) }));
      const known = new Set(used.map(({ holder }) => holder));
      await network.learn(
        used,
        settled.filter((holder) => !known.has(holder)),
      );
    }
    const running = routed.filter(({ state }) => state === 'running');
    if (running.length === 0) return all;
    const joined = await network.joined(running.map(({ ip, pid }) => ({ address: ip!, pid })));
    // A sandbox that runs without its network (the agent was killed before it was joined) cannot hold a pod.
    const isLost = (each: ObservedContainer): boolean =>
      joined !== undefined && each.routed === true && each.state === 'running' && !joined.has(each.ip!) && !isBeingMade(each);
    return all.map((each) => (isLost(each) ? asEnded(each) : each));
  }

  const beingMade = new Set<string>();
  const isBeingMade = (each: ObservedContainer): boolean => beingMade.has(holderOf(each));

  async function leave(id: string): Promise<void> {
    const held = addresses.get(id);
    addresses.delete(id);
    if (held) await network.release(held.address, held.holder);
  }

  async function remove(id: string): Promise<void> {
    await calls.remove(id);
    await leave(id);
  }

  return {
    ...calls,
    list,
    async runSandbox(config, onCreated) {
      if (!network.isWanted || config.hostNetwork || config.portMappings.length > 0) return calls.runSandbox(config, onCreated);
      const holder = holderOf(config.identity);
      beingMade.add(holder);
      try {
        return await runRouted(config, onCreated);
      } finally {
        beingMade.delete(holder);
      }
    },
    async stop(id, gracePeriodSeconds) {
      await calls.stop(id, gracePeriodSeconds);
      await leave(id);
    },
    remove,
  };
}

const holderOf = ({ podUid, attempt }: { readonly podUid: string; readonly attempt: number }): string => `${podUid}/${attempt}`;

const isAlive = ({ state }: ObservedContainer): boolean => state === 'running' || state === 'created';

const killedBySignal = 137;
const asEnded = (container: ObservedContainer): ObservedContainer => ({
  ...container,
  state: 'exited',
  finishedAt: new Date(),
  exitCode: killedBySignal,
  error: 'its network is gone',
});

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
