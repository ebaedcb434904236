import { execFile } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Engine } from './engine.ts';
import { killProcess } from './kill-command.ts';
import { listPortProxies, type PortProxy } from './port-proxies.ts';

/** A network link of the machine, as `ip -json link` tells it. */
export interface Link {
  readonly ifindex: number;
  readonly ifname: string;
  /** The interface index of the peer, if it is in another namespace. */
  readonly link_index?: number;
  /** The name of the peer, if it is in the same namespace. */
  readonly link?: string;
  /** The bridge that it is plugged into. */
  readonly master?: string;
}

/** What the network of the engine's containers looks like at one moment. */
export interface NetworkLook {
  readonly bridge: string;
  /** veth pairs with an end in the machine's network namespace. */
  readonly cables: readonly Link[];
  /** Numbers of the machine's ends of the cables of running containers. */
  readonly used: ReadonlySet<number>;
  /** Paths of the engine's namespaces, and those of running containers. */
  readonly namespaces: readonly string[];
  readonly usedNamespaces: ReadonlySet<string>;
  /** Programs of the machine that pass on host ports. */
  readonly proxies: readonly Pick<PortProxy, 'pid' | 'parent'>[];
}

/** Unused resources: cables by name, namespaces by path, proxies by process id. */
export interface Leftovers {
  readonly cables: readonly string[];
  readonly namespaces: readonly string[];
  readonly proxies: readonly number[];
}

/**
 * As the engine names its cables; a pair of them that never left the machine was cut off in the middle of its making.
 */
const engineCable = /^veth[0-9a-f]{7}$/;
const engineNamespace = /^[0-9a-f]{12}$/;

/**
 * The parents of port proxies: an engine, or the helper of a rootless one (rootlesskit-docker-proxy; the kernel cuts
 * names after 15 letters).
 */
const proxyParents = ['dockerd', 'rootlesskit-doc'];

/** veth pairs and namespaces without a running container, and proxies whose engine has exited. Pure. */
export function decideLeftovers({ bridge, cables, used, namespaces, usedNamespaces, proxies }: NetworkLook): Leftovers {
  const isUnfinished = ({ ifname, link: other = '' }: Link): boolean => engineCable.test(ifname) && engineCable.test(other);
  return {
    cables: cables
      .filter((link) => engineCable.test(link.ifname) && !used.has(link.ifindex))
      .filter((link) => link.master === bridge || (link.master === undefined && isUnfinished(link)))
      .map((link) => link.ifname),
    namespaces: namespaces.filter((path) => engineNamespace.test(basename(path)) && !usedNamespaces.has(basename(path))),
    proxies: proxies.filter(({ parent }) => !proxyParents.includes(parent)).map(({ pid }) => pid),
  };
}

/** What was left over both times. */
export function leftBoth(before: Leftovers, now: Leftovers): Leftovers {
  const both = <T>(a: readonly T[], b: readonly T[]) => b.filter((each) => a.includes(each));
  return {
    cables: both(before.cables, now.cables),
    namespaces: both(before.namespaces, now.namespaces),
    proxies: both(before.proxies, now.proxies),
  };
}

const isNothing = ({ cables, namespaces, proxies }: Leftovers): boolean =>
  cables.length + namespaces.length + proxies.length === 0;

/** Between two looks; what both find unused is left over. */
const betweenMs = 20_000;
const mostLooks = 30;
/** The engine itself forgets more while it ends what it found. */
const cleanLooks = 4;
/** A container that was created longer ago than this and has not started is not about to start. */
const onItsWayMs = 60_000;
const usualNamespaces = '/run/docker/netns';

interface RunningContainer {
  readonly Id: string;
  readonly Created: number;
}

interface NetworkInspection {
  readonly NetworkSettings?: { readonly SandboxKey?: string };
}

/**
 * An engine that is killed while it makes or ends a container's network forgets it: the cable stays plugged into its
 * bridge, the namespace stays mounted, the proxy keeps its host port. None is ever used again; the engine itself does
 * not clean them up. Every container of the engine counts, ours or not.
 */
export interface LeftoverSweeper {
  /**
   * Looks for a while and removes what was unused twice in a row, until nothing is left for some looks. Called again
   * meanwhile, because the engine was away again, it goes on for as long as from now. Never throws.
   */
  sweep(signal: AbortSignal): Promise<void>;
}

export interface LeftoverOptions {
  readonly engine: Engine;
  readonly warn: (message: string) => void;
}

/** A sweep ends after some consecutive empty passes, or after the maximum number of passes. */
export class SweepPatience {
  #looks = 0;
  #clean = 0;

  /** The engine may have forgotten something new. */
  renew(): void {
    this.#looks = 0;
    this.#clean = 0;
  }

  looked(isClean: boolean): void {
    this.#looks += 1;
    this.#clean = isClean ? this.#clean + 1 : 0;
  }

  get isOver(): boolean {
    return this.#looks >= mostLooks || this.#clean >= cleanLooks;
  }
}

export function createLeftoverSweeper(options: LeftoverOptions): LeftoverSweeper {
  return new LeftoverSweep(options);
}

class LeftoverSweep implements LeftoverSweeper {
  readonly #options: LeftoverOptions;
  #folder = usualNamespaces;
  #sweeping: Promise<void> | undefined;
  readonly #patience = new SweepPatience();
  /** Of namespaces; forgotten at the end of a sweep. */
  readonly #known = new Map<string, readonly number[]>();

  constructor(options: LeftoverOptions) {
    this.#options = options;
  }

  sweep(signal: AbortSignal): Promise<void> {
    this.#patience.renew();
    this.#sweeping ??= this.#sweepOnce(signal);
    return this.#sweeping;
  }

  /** Undefined while containers are being started: what they get is not in use yet. */
  async #look(): Promise<Leftovers | undefined> {
    const list = (filters: object) =>
      this.#options.engine.call<RunningContainer[]>({
        method: 'GET',
        path: '/containers/json',
        query: { all: 1, filters },
        action: 'list containers',
      });
    const created = await list({ status: ['created'] });
    if (created.some((each) => Date.now() - each.Created * 1000 < onItsWayMs)) return undefined;
    const keys: string[] = [];
    for (const { Id } of await list({ status: ['running', 'paused', 'restarting'] })) keys.push(await this.#namespaceOf(Id));
    const own = keys.filter((key) => engineNamespace.test(basename(key)));
    if (own[0] !== undefined) this.#folder = dirname(own[0]);
    const used = new Set<number>();
    await this.#learnCables(own.filter((key) => !this.#known.has(key)));
    for (const key of own) for (const index of this.#known.get(key) ?? []) used.add(index);
    return decideLeftovers({
      bridge: await this.#bridgeName(),
      cables: await links(),
      used,
      namespaces: (await readdir(this.#folder).catch(() => [])).map((name) => join(this.#folder, name)),
      usedNamespaces: new Set(own.map((key) => basename(key))),
      proxies: await listPortProxies(),
    });
  }

  /** Empty for a container in a namespace that is not its own. */
  async #namespaceOf(id: string): Promise<string> {
    const path = `/containers/${id}/json`;
    const answer = await this.#options.engine.call<NetworkInspection>({
      method: 'GET',
      path,
      action: `inspect container ${id}`,
      accept: [404],
    });
    return answer.NetworkSettings?.SandboxKey ?? '';
  }

  /**
   * Numbers of the machine's ends of these namespaces' cables; they stay the same as long as the namespace is there.
   */
  async #learnCables(namespaces: readonly string[]): Promise<void> {
    for (let at = 0; at < namespaces.length; at += namespacesAtOnce) {
      const some = namespaces.slice(at, at + namespacesAtOnce);
      const found = await linksOfEach(some);
      for (const [i, namespace] of some.entries())
        this.#known.set(namespace, found[i]?.flatMap(({ link_index: other }) => (other === undefined ? [] : [other])) ?? []);
    }
  }

  async #bridgeName(): Promise<string> {
    const call = { method: 'GET', path: '/networks/bridge', action: 'inspect network bridge' } as const;
    const { Options } = await this.#options.engine.call<{ readonly Options?: Readonly<Record<string, string>> | null }>(call);
    return Options?.['com.docker.network.bridge.name'] ?? 'docker0';
  }

  async #remove({ cables, namespaces, proxies: pids }: Leftovers): Promise<void> {
    for (const pid of pids) killProcess(pid);
    // The other end of one that is gone already goes with it.
    for (const cable of cables) await run('ip', ['link', 'delete', cable], limits).catch(() => {});
    for (const path of namespaces) {
      await run('umount', ['-l', path], limits).catch(() => {});
      await rm(path, { force: true });
    }
    this.#options.warn(
      `the engine forgot ${cables.length} network links, ${namespaces.length} network namespaces and ${pids.length} port proxies of containers that are gone; removed them`,
    );
  }

  /** What cannot be seen now, e.g. because a container ended meanwhile, is looked at again. */
  async #tryLook(signal: AbortSignal): Promise<Leftovers | undefined> {
    try {
      return await this.#look();
    } catch (error) {
      if (!signal.aborted)
        this.#options.warn(`look for what the engine forgot: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  async #sweepPatiently(signal: AbortSignal): Promise<void> {
    let before: Leftovers | undefined;
    while (!this.#patience.isOver && !signal.aborted) {
      const now = await this.#tryLook(signal);
      if (signal.aborted) return;
      this.#patience.looked(now !== undefined && isNothing(now));
      const both = before === undefined || now === undefined ? undefined : leftBoth(before, now);
      if (both !== undefined && !isNothing(both)) await this.#remove(both);
      before = now;
      if (!this.#patience.isOver) await delay(betweenMs, undefined, { signal }).catch(() => {});
    }
  }

  async #sweepOnce(signal: AbortSignal): Promise<void> {
    try {
      await this.#sweepPatiently(signal);
    } catch (error) {
      this.#options.warn(`sweep what the engine forgot: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#known.clear();
      this.#sweeping = undefined;
    }
  }
}

const run = promisify(execFile);

const linkArguments = ['-json', 'link', 'show', 'type', 'veth'];

/** Cables of the machine. */
async function links(): Promise<Link[]> {
  return parseLinks((await run('ip', linkArguments, limits)).stdout);
}

// One shell for many: to start a program costs a process of this size far more than it costs a shell.
const askEach = `for each; do nsenter "--net=$each" ip ${linkArguments.join(' ')} || exit; echo; echo end; done`;
const namespacesAtOnce = 50;

/** The cables in each of these namespaces. Fails when one of them is gone. */
async function linksOfEach(namespaces: readonly string[]): Promise<Link[][]> {
  const { stdout } = await run('sh', ['-c', askEach, 'sh', ...namespaces], limits);
  return stdout.split('\nend\n').slice(0, -1).map(parseLinks);
}

function parseLinks(text: string): Link[] {
  return text.trim() === '' ? [] : (JSON.parse(text) as Link[]).filter((link) => link.ifindex !== undefined);
}

const limits = { timeout: 10_000, maxBuffer: 16 * 1024 * 1024 } as const;
