import { randomBytes } from 'node:crypto';
import { readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { linkAbort } from '../../../client/abort.ts';
import { pause } from '../../../client/clock.ts';
import type { ContainerIdentity, ObservedContainer } from '../runtime.ts';
import { networkName } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { noHealthcheck, sandboxOomScoreAdj } from './container-spec.ts';
import { decideWarm, freePrefix } from './decide-warm.ts';
import type { Engine } from './engine.ts';
import type { Inventory } from './inventory.ts';
import { engineName, label } from './labels.ts';
import type { ListEntry } from './observe.ts';

/** A network that waits for a pod: a container with addresses and routes, made in advance. */
export interface WarmNetwork {
  /** The container that has it. */
  readonly id: string;
  readonly ip: string;
  /** The file that stands for its network namespace, and the namespace behind it. */
  readonly path: string;
  readonly namespace: string;
  readonly pid: number;
  /** The list of name servers that the engine has made for it. */
  readonly resolvConfPath: string;
}

export interface WarmNetworksOptions {
  readonly engine: Engine;
  readonly inventory: Inventory;
  readonly nodeName: string;
  readonly remove: (id: string) => Promise<void>;
  /** The score that this machine allows instead of this one. */
  readonly oomScore: (wanted: number) => number;
  readonly warn: (message: string) => void;
  /** How many wait at most, and what they run. */
  readonly size: number;
  readonly image: () => Promise<string>;
  /** How long nothing may have been started or removed before one is made. */
  readonly quietMs?: number;
  /** What the kernel says of a process's network; undefined when there is no such process. */
  readonly namespaceOf?: (pid: number) => Promise<string | undefined>;
}

/**
 * Making a network is two thirds of what a sandbox costs, and needs to know nothing of a pod: a few are made while
 * nothing else is done. A pod's sandbox then is made without a network and enters one of these; its name,
 * its labels and everything else are those of other sandboxes. A label of the sandbox names the container with the
 * network, so that after a restart the agent learns all this from the engine alone:
 *
 *     (made) --> waits --claimed: renamed--> in use, by the sandbox whose label names it --> removed with the sandbox
 *
 * One that was renamed and that no sandbox names (the agent was killed between the two) is never used again,
 * but removed.
 */
export interface WarmNetworks {
  /** One for this caller alone, or undefined. The caller says `enters`, `use`, or `spoilt`. */
  claim(identity: ContainerIdentity): Promise<{ readonly network: WarmNetwork; readonly renamed: Promise<void> } | undefined>;
  /** The sandbox was created, and will enter the network when it starts. */
  enters(network: WarmNetwork, sandboxId: string): void;
  /** Returns once the sandbox is in the network; throws when it does not get there. */
  use(network: WarmNetwork, sandbox: ObservedContainer): Promise<void>;
  /** Was no good: is removed. After a few in a row none is made any more. */
  spoilt(network: WarmNetwork, why: unknown): Promise<void>;
  /** Where the list of name servers of a sandbox's network is; undefined for a sandbox with its own network. */
  resolvConfOf(sandboxId: string): Promise<string | undefined>;
  /** The sandbox goes: names the container whose network it is in, which has to go too. */
  release(sandboxId: string): string | undefined;
  /** What the engine says of sandboxes and whose networks they are in. */
  learn(sandboxes: Iterable<ObservedContainer>): void;
  /** How many could be given away now. */
  waiting(): number;
  /** Counts work of others: while there is any, none is made. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Takes over what an agent before left, makes what is missing, and removes what waits in the end. */
  run(signal: AbortSignal): Promise<void>;
  /** Removes all, also those in use. */
  removeAll(): Promise<void>;
}

/** A burst of starts is not disturbed. */
const usualQuietMs = 1_500;
const lookMs = 250;
const sweepMs = 60_000;
const failurePauseMs = 30_000;
const mostFailures = 3;
const passing: ReadonlySet<string> = new Set(['unavailable', 'timeout', 'image-not-found']);
const enterTimeoutMs = 5_000;
const createTimeoutMs = 60_000;

export function createWarmNetworks(options: WarmNetworksOptions): WarmNetworks {
  return new NetworkStock(options);
}

class NetworkStock implements WarmNetworks {
  readonly #options: WarmNetworksOptions;
  readonly #quietMs: number;
  readonly #namespaceOf: (pid: number) => Promise<string | undefined>;
  readonly #waiting: WarmNetwork[] = [];
  /** Claimed, by a sandbox that is being made. */
  readonly #claimed = new Set<string>();
  readonly #bySandbox = new Map<string, string>();
  /** Of networks in use, where this agent gave them away. */
  readonly #resolvConfs = new Map<string, string>();
  #size: number;
  #failures = 0;
  #working = 0;
  #quietSinceMs = performance.now();
  #wake = () => {};

  constructor(options: WarmNetworksOptions) {
    this.#options = options;
    this.#quietMs = options.quietMs ?? usualQuietMs;
    this.#namespaceOf = options.namespaceOf ?? readNamespace;
    this.#size = options.size;
  }

  async claim(
    identity: ContainerIdentity,
  ): Promise<{ readonly network: WarmNetwork; readonly renamed: Promise<void> } | undefined> {
    const network = await this.#takeLiving();
    if (network === undefined) return undefined;
    const renamed = this.#options.engine.call<void>({
      method: 'POST',
      path: `/containers/${network.id}/rename`,
      query: { name: engineName({ ...identity, containerName: networkName }) },
      action: `claim warm network for ${identity.podNamespace}/${identity.podName}`,
    });
    // Awaited later than the sandbox.
    renamed.catch(() => {});
    return { network, renamed };
  }

  enters({ id, resolvConfPath }: WarmNetwork, sandboxId: string): void {
    // Another was tried before it.
    for (const [other, network] of this.#bySandbox) if (network === id) this.release(other);
    this.#bySandbox.set(sandboxId, id);
    this.#resolvConfs.set(id, resolvConfPath);
  }

  async use(network: WarmNetwork, sandbox: ObservedContainer): Promise<void> {
    const until = performance.now() + enterTimeoutMs;
    for (let waitMs = 1; (await this.#namespaceOf(sandbox.pid ?? 0)) !== network.namespace; waitMs *= 2) {
      if (sandbox.state !== 'running' || performance.now() > until)
        throw new Error(`the sandbox of ${sandbox.podNamespace}/${sandbox.podName} did not enter its network`);
      await delay(waitMs);
    }
    // With its first process the engine takes the network away.
    if ((await this.#namespaceOf(network.pid)) !== network.namespace) throw new Error('the network is gone');
    this.#failures = 0;
    this.#claimed.delete(network.id);
    this.#wake();
  }

  async spoilt(network: WarmNetwork, why: unknown): Promise<void> {
    this.#failed(why);
    for (const [sandboxId, id] of this.#bySandbox) if (id === network.id) this.release(sandboxId);
    this.#claimed.delete(network.id);
    this.#wake();
    await this.#options.remove(network.id);
  }

  async resolvConfOf(sandboxId: string): Promise<string | undefined> {
    const network = this.#bySandbox.get(sandboxId);
    return network && (this.#resolvConfs.get(network) ?? (await this.#options.inventory.inspect(network))?.ResolvConfPath);
  }

  /** The sandbox goes, or never was. */
  release(sandboxId: string): string | undefined {
    const network = this.#bySandbox.get(sandboxId);
    this.#bySandbox.delete(sandboxId);
    this.#resolvConfs.delete(network ?? '');
    return network;
  }

  learn(sandboxes: Iterable<ObservedContainer>): void {
    for (const { id, network } of sandboxes) if (network !== undefined) this.#bySandbox.set(id, network);
  }

  waiting(): number {
    return this.#waiting.length;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#working++;
    try {
      return await work();
    } finally {
      this.#working--;
      this.#quietSinceMs = performance.now();
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#fill(signal);
    await Promise.allSettled(this.#waiting.splice(0).map(({ id }) => this.#options.remove(id)));
  }

  async removeAll(): Promise<void> {
    this.#waiting.length = 0;
    await Promise.all((await this.#list(label.pool)).map(({ Id }) => this.#options.remove(Id)));
  }

  #list(...labels: string[]): Promise<ListEntry[]> {
    return this.#options.engine.call({
      method: 'GET',
      path: '/containers/json',
      query: { all: 1, filters: { label: [`${label.node}=${this.#options.nodeName}`, ...labels] } },
      action: 'list warm networks',
    });
  }

  async #read(id: string): Promise<WarmNetwork | undefined> {
    const found = await this.#options.inventory.inspect(id);
    const path = found?.NetworkSettings?.SandboxKey ?? '';
    const [ip] = Object.values(found?.NetworkSettings?.Networks ?? {}).map((network) => network?.IPAddress ?? '');
    const pid = found?.State.Pid ?? 0;
    const namespace = pid === 0 ? undefined : await this.#namespaceOf(pid);
    return path === '' || !ip || namespace === undefined
      ? undefined
      : { id, ip, path, pid, namespace, resolvConfPath: found?.ResolvConfPath ?? '' };
  }

  async #make(): Promise<void> {
    const { engine, image, nodeName } = this.#options;
    const oomScoreAdj = this.#options.oomScore(sandboxOomScoreAdj);
    const { Id } = await engine.call<{ Id: string }>({
      method: 'POST',
      path: '/containers/create',
      query: { name: `${freePrefix}${randomBytes(8).toString('hex')}` },
      body: {
        Image: await image(),
        Healthcheck: noHealthcheck,
        Labels: { [label.node]: nodeName, [label.pool]: 'network', [label.containerName]: networkName },
        HostConfig: {
          NetworkMode: 'bridge',
          IpcMode: 'none',
          LogConfig: { Type: 'none' },
          RestartPolicy: { Name: 'no' },
          ...(oomScoreAdj === 0 ? {} : { OomScoreAdj: oomScoreAdj }),
        },
      },
      action: 'create warm network',
      timeoutMs: createTimeoutMs,
    });
    try {
      await engine.call({
        method: 'POST',
        path: `/containers/${Id}/start`,
        action: 'start warm network',
        timeoutMs: createTimeoutMs,
      });
      const made = await this.#read(Id);
      if (made === undefined) throw new Error('the network cannot be seen from here');
      this.#waiting.push(made);
    } catch (error) {
      await this.#options.remove(Id);
      throw error;
    }
  }

  async #sweep(): Promise<void> {
    const known = new Set(this.#bySandbox.keys());
    const [entries, sandboxes] = [await this.#list(label.pool), await this.#list(label.network)];
    for (const { Id, Labels } of sandboxes) {
      this.#bySandbox.set(Id, Labels?.[label.network] ?? '');
      known.delete(Id);
    }
    // Removed by another program.
    for (const id of known) this.release(id);
    const inUse = new Set([...this.#claimed, ...this.#bySandbox.values()]);
    const verdict = decideWarm(entries, {
      inUse,
      waiting: new Set(this.#waiting.map(({ id }) => id)),
      image: this.#size === 0 ? '' : await this.#options.image(),
      size: this.#size,
    });
    for (const id of verdict.remove) {
      this.#forget(id);
      await this.#options.remove(id);
    }
    for (const id of verdict.adopt) {
      const network = await this.#read(id);
      if (network === undefined) await this.#options.remove(id);
      else this.#waiting.push(network);
    }
  }

  /** A waiting network with a living process; the engine may have been restarted since it was made. */
  async #takeLiving(): Promise<WarmNetwork | undefined> {
    for (let network = this.#waiting.pop(); network !== undefined; network = this.#waiting.pop()) {
      this.#claimed.add(network.id);
      if ((await this.#namespaceOf(network.pid)) === network.namespace) return network;
      this.#claimed.delete(network.id);
      // What cannot be removed now, the next sweep removes.
      this.#options.remove(network.id).catch(() => {});
    }
    this.#wake();
    return undefined;
  }

  #forget(id: string): void {
    const at = this.#waiting.findIndex((network) => network.id === id);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  #failed(why: unknown): void {
    // That says nothing about whether networks can be entered here.
    if (why instanceof RuntimeError && passing.has(why.code)) return;
    this.#failures++;
    const words = why instanceof Error ? why.message : String(why);
    const last = this.#failures >= mostFailures;
    if (last) this.#size = 0;
    this.#options.warn(`warm sandbox: ${words}${last ? '; none are made any more until the agent starts again' : ''}`);
  }

  #isIdle(): boolean {
    return this.#working === 0 && performance.now() - this.#quietSinceMs >= this.#quietMs;
  }

  async #fill(signal: AbortSignal): Promise<void> {
    let sweptAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      let pauseMs = this.#waiting.length < this.#size ? lookMs : sweepMs;
      try {
        if (performance.now() - sweptAt >= sweepMs && this.#isIdle()) {
          await this.#sweep();
          sweptAt = performance.now();
        }
        if (this.#waiting.length < this.#size && this.#isIdle() && !signal.aborted) await this.#make();
      } catch (error) {
        this.#failed(error);
        pauseMs = failurePauseMs;
      }
      await nap(pauseMs, signal, (stop) => {
        this.#wake = stop;
      });
    }
  }
}

/** A pause that ends early on abort, and when it is stopped. */
async function nap(ms: number, signal: AbortSignal, onStop: (stop: () => void) => void): Promise<void> {
  const link = linkAbort(signal);
  onStop(link.abort);
  await pause(ms, link.signal);
  link.unlink();
}

async function readNamespace(pid: number): Promise<string | undefined> {
  try {
    return await readlink(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}
