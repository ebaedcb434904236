import { randomBytes } from 'node:crypto';
import {
  type ContainerConfig,
  type ContainerRuntime,
  type ObservedContainer,
  type SandboxConfig,
  sandboxName,
} from '../../agent/runtime/runtime.ts';
import { RuntimeError } from '../../agent/runtime/runtime-error.ts';
import type { Clock } from '../../client/clock.ts';
import type { AddressPool } from './addresses.ts';
import { createEventFeed } from './event-feed.ts';
import type { BookedPod, PodBook } from './pod-book.ts';

export interface HollowRuntimeOptions {
  readonly book: Pick<PodBook, 'of'>;
  readonly addresses: AddressPool;
  readonly clock: Clock;
}

/** Containers in memory: they have a state, an address and a time, and nothing runs in them. */
export interface HollowRuntime {
  readonly runtime: ContainerRuntime;
  /** Throws RuntimeError `not-found`. */
  find(id: string): HollowContainer;
  /** Resolves when the container has ended or is gone, or on abort. */
  untilEnded(id: string, signal: AbortSignal): Promise<void>;
}

export interface HollowContainer {
  readonly observed: ObservedContainer;
  /** Of its pod when it started; undefined when the agent was not told of it. */
  readonly pod: BookedPod | undefined;
}

interface Held extends HollowContainer {
  observed: ObservedContainer;
  /** Takes back its end by itself. */
  cancelEnd: () => void;
  readonly waiting: Set<() => void>;
}

/** What shells report of a process that SIGTERM or SIGKILL ended. */
const terminated = 143;
const killed = 137;

const cgroups = { apiVersion: '1', cgroupVersion: 2, cgroupDriver: 'systemd' } as const;
/** Its file system has no blocks: never full, whatever the disk of the machine. */
const emptyFileSystem = '/proc';

/** The containers of a node by id and pod: a look at one pod does not go through those of all others. */
function createTable() {
  const containers = new Map<string, Held>();
  const byPod = new Map<string, Set<string>>();
  const get = (id: string) => containers.get(id);
  const find = (id: string): Held => {
    const held = get(id);
    if (held === undefined) throw new RuntimeError('not-found', `no such container: ${id}`);
    return held;
  };
  return {
    get,
    find,
    add(held: Held): void {
      const { id, podUid } = held.observed;
      containers.set(id, held);
      byPod.set(podUid, (byPod.get(podUid) ?? new Set()).add(id));
    },
    delete({ observed: { id, podUid } }: Held): void {
      containers.delete(id);
      const siblings = byPod.get(podUid);
      siblings?.delete(id);
      if (siblings?.size === 0) byPod.delete(podUid);
    },
    observedOf(podUid: string | undefined): ObservedContainer[] {
      const ids = podUid === undefined ? containers.keys() : (byPod.get(podUid) ?? []);
      return Array.from(ids, (id) => find(id).observed);
    },
  };
}

/** The containers of a node, with what happens in their lives. */
function holdContainers({ book, addresses, clock }: HollowRuntimeOptions) {
  const table = createTable();
  const feed = createEventFeed();
  const now = () => new Date(clock.now());

  function change(held: Held, next: Partial<ObservedContainer>): void {
    held.observed = { ...held.observed, ...next };
    feed.changed(held.observed.podUid, held.observed.id);
  }

  function create(config: SandboxConfig | ContainerConfig): Held {
    const { podUid } = config.identity;
    const held: Held = { observed: newContainer(config, now()), pod: book.of(podUid), cancelEnd: () => {}, waiting: new Set() };
    table.add(held);
    return held;
  }

  function start(held: Held, ip: string | undefined): void {
    change(held, { state: 'running', startedAt: now(), ip });
    const end = endOf(held);
    if (end?.afterMs === 0) finish(held, end.exitCode);
    else if (end !== undefined) held.cancelEnd = clock.after(end.afterMs, () => finish(held, end.exitCode));
  }

  function finish(held: Held, exitCode: number): void {
    const { state, ip } = held.observed;
    if (state !== 'running') return;
    held.cancelEnd();
    if (ip !== undefined) addresses.giveBack(ip);
    change(held, { state: 'exited', exitCode, finishedAt: now(), ip: undefined });
    for (const wake of [...held.waiting]) wake();
  }

  function untilEnded(id: string, signal: AbortSignal): Promise<void> {
    const held = table.get(id);
    if (held?.observed.state !== 'running' || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        held.waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      held.waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  function remove(id: string): void {
    const held = table.get(id);
    if (held === undefined) return;
    finish(held, killed);
    table.delete(held);
    feed.changed(held.observed.podUid, id);
  }

  return { ...table, change, create, start, finish, untilEnded, remove, follow: feed.follow };
}

export function createHollowRuntime(options: HollowRuntimeOptions): HollowRuntime {
  const { addresses, clock } = options;
  const { get, find, observedOf, change, create, start, finish, untilEnded, remove, follow } = holdContainers(options);

  /** Ends it as a process does that handles SIGTERM, or that takes too long for its grace period. */
  async function stop(id: string, gracePeriodSeconds: number): Promise<void> {
    const held = get(id);
    if (held?.observed.state !== 'running') return;
    const wantedMs = held.pod?.behaviour.stopAfterMs ?? 0;
    const graceMs = gracePeriodSeconds * 1000;
    if (held.observed.containerName === sandboxName) return finish(held, 0);
    if (wantedMs === 0) return finish(held, terminated);
    const exitCode = wantedMs <= graceMs ? terminated : killed;
    const cancel = clock.after(Math.min(wantedMs, graceMs), () => finish(held, exitCode));
    await untilEnded(id, unending);
    cancel();
  }

  const runtime: ContainerRuntime = {
    list: async (podUid) => observedOf(podUid),
    async runSandbox(config) {
      const held = create(config);
      start(held, config.hostNetwork ? undefined : addresses.take());
      return held.observed;
    },
    createContainer: async (config) => create(config).observed.id,
    async runContainer(config, createdId) {
      if (get(config.sandboxId)?.observed.state !== 'running')
        throw new RuntimeError('conflict', `start container ${config.identity.containerName}: its sandbox does not run`);
      const held = createdId === undefined ? create(config) : find(createdId);
      start(held, undefined);
      return held.observed;
    },
    update: async (id, limits) => change(find(id), { limits }),
    stop,
    remove: async (id) => remove(id),
    events: follow,
    version: async () => ({ runtime: 'hollow://1', ...cgroups, rootDir: emptyFileSystem }),
  };
  return { runtime, find, untilEnded };
}

/** A stop is over when the container has ended; nothing takes it back. */
const unending = new AbortController().signal;

function endOf({ observed, pod }: HollowContainer): { readonly afterMs: number; readonly exitCode: number } | undefined {
  if (observed.containerName === sandboxName || pod === undefined) return undefined;
  return pod.init.has(observed.containerName) ? { afterMs: 0, exitCode: 0 } : pod.behaviour.end;
}

function newContainer(config: SandboxConfig | ContainerConfig, createdAt: Date): ObservedContainer {
  return {
    ...config.identity,
    id: randomBytes(32).toString('hex'),
    sandboxId: 'sandboxId' in config ? config.sandboxId : undefined,
    state: 'created',
    image: config.image,
    imageId: config.image,
    createdAt,
    startedAt: undefined,
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: undefined,
    pid: undefined,
    limits: 'resources' in config ? config.resources : undefined,
  };
}
