import { createHash } from 'node:crypto';
import {
  type ContainerAccess,
  type ContainerConfig,
  type ContainerIdentity,
  type ContainerRuntime,
  type ImageService,
  type LocalImage,
  type ObservedContainer,
  type RuntimeEvent,
  type RuntimeVersion,
  type SandboxConfig,
  sandboxName,
} from '../../agent/runtime/runtime.ts';
import { RuntimeError } from '../../agent/runtime/runtime-error.ts';
import { createFakeAccess, type FakeAccessControls } from './fake-access.ts';

/** What a container does when it is started or told to stop; the default runs until it is stopped and ends on SIGTERM with code 143. */
export interface FakeBehaviour {
  /** Ends by itself right after it was started. */
  readonly exitsWith?: number;
  /** Cannot be started: the engine's words. */
  readonly startError?: string;
  readonly ignoresTerm?: boolean;
  readonly termExitCode?: number;
}

export type FakeMethod =
  | 'list'
  | 'runSandbox'
  | 'runContainer'
  | 'stop'
  | 'remove'
  | 'version'
  | 'find'
  | 'pull'
  | 'load'
  | 'removeImage'
  | 'listImages'
  | 'logs'
  | 'exec';

export interface FakeCall {
  readonly method: FakeMethod;
  /** "pod/container" where the call is about a container, else the image reference or the pod uid. */
  readonly target: string;
  readonly at: Date;
}

export interface FakeRuntimeOptions {
  readonly now?: () => Date;
  /** How the time of a grace period passes; by default at once. */
  readonly sleep?: (ms: number) => Promise<void>;
  /** Images present from the start; `undefined` in `pullable` means that every reference can be pulled. */
  readonly images?: readonly string[];
  readonly pullable?: readonly string[];
}

/** An engine in memory with the ports' contracts, and the levers a test needs to make things happen to containers. */
export interface FakeRuntime extends FakeAccessControls {
  readonly runtime: ContainerRuntime;
  readonly images: ImageService;
  readonly access: ContainerAccess;
  readonly calls: FakeCall[];
  callsOf(method: FakeMethod): FakeCall[];
  /** Every container there is, with the configuration it was made from. */
  containers(): FakeContainer[];
  /** The newest container of a pod with this name. */
  container(podName: string, containerName: string): FakeContainer;
  behave(containerName: string, behaviour: FakeBehaviour): void;
  /** A container ends by itself. */
  exit(id: string, exitCode: number, options?: { oomKilled?: boolean }): void;
  /** The next call of this method fails with this error. */
  failNext(method: FakeMethod, error: RuntimeError): void;
  /** Calls of this method wait until the returned function is called. */
  hold(method: FakeMethod): () => void;
  /** While true every call fails with `unavailable`; on return every watcher is told of every pod, as after a restart of the engine. */
  setDown(down: boolean): void;
  /** Swallows events, as a lost stream would, until set back. */
  loseEvents(lose: boolean): void;
}

export interface FakeContainer extends ObservedContainer {
  readonly config: SandboxConfig | ContainerConfig;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const gracefulExit = 143;
const killed = 137;
const notStartable = 127;

export function createFakeRuntime(options: FakeRuntimeOptions = {}): FakeRuntime {
  const now = options.now ?? (() => new Date());
  const sleep = options.sleep ?? (async () => undefined);
  const containers = new Map<string, Mutable<FakeContainer>>();
  const images = new Map<string, LocalImage>();
  const behaviours = new Map<string, FakeBehaviour>();
  const failures = new Map<FakeMethod, RuntimeError[]>();
  const gates = new Map<FakeMethod, Promise<void>>();
  const watchers = new Set<(event: RuntimeEvent) => void>();
  const endWaiters = new Map<string, Set<() => void>>();
  const calls: FakeCall[] = [];
  let serial = 0;
  let down = false;
  let losing = false;

  for (const name of options.images ?? []) addImage(name);

  function addImage(reference: string): LocalImage {
    const name = canonicalName(reference);
    const image = { id: `sha256:${createHash('sha256').update(name).digest('hex')}`, names: [name], sizeBytes: 1_000_000 };
    images.set(name, image);
    return image;
  }

  /** Every call passes here: it is written down, may be held, may fail. */
  async function enter(method: FakeMethod, target: string): Promise<void> {
    calls.push({ method, target, at: now() });
    await gates.get(method);
    const failure = failures.get(method)?.shift();
    if (failure !== undefined) throw failure;
    if (down) throw new RuntimeError('unavailable', `${method} ${target}: cannot connect to the engine`);
  }

  function emit(container: ObservedContainer): void {
    if (losing || down) return;
    for (const watcher of watchers) watcher({ podUid: container.podUid, containerId: container.id });
  }

  function targetOf(identity: ContainerIdentity): string {
    return `${identity.podName}/${identity.containerName}`;
  }

  function labelOf(id: string): string {
    const container = containers.get(id);
    return container === undefined ? id : targetOf(container);
  }

  function create(config: SandboxConfig | ContainerConfig): Mutable<FakeContainer> {
    const image = images.get(canonicalName(config.image));
    if (image === undefined)
      throw new RuntimeError('image-not-found', `create ${targetOf(config.identity)}: no such image: ${config.image}`);
    serial++;
    const id = createHash('sha256').update(`container ${serial}`).digest('hex');
    const container: Mutable<FakeContainer> = {
      ...config.identity,
      id,
      config,
      state: 'created',
      image: config.image,
      imageId: image.id,
      createdAt: now(),
      startedAt: undefined,
      finishedAt: undefined,
      exitCode: undefined,
      oomKilled: false,
      error: '',
      ip: undefined,
      pid: undefined,
    };
    containers.set(id, container);
    emit(container);
    return container;
  }

  function start(container: Mutable<FakeContainer>): void {
    const behaviour = behaviours.get(container.containerName) ?? {};
    if (behaviour.startError !== undefined) {
      Object.assign(container, { state: 'exited', error: behaviour.startError, exitCode: notStartable, finishedAt: now() });
      emit(container);
      return;
    }
    container.state = 'running';
    container.startedAt = now();
    container.pid = 1000 + serial;
    emit(container);
    if (behaviour.exitsWith !== undefined) end(container, behaviour.exitsWith);
  }

  function end(container: Mutable<FakeContainer>, exitCode: number, oomKilled = false): void {
    if (container.state !== 'running') return;
    Object.assign(container, { state: 'exited', exitCode, oomKilled, finishedAt: now(), pid: undefined, ip: undefined });
    for (const wake of endWaiters.get(container.id) ?? []) wake();
    endWaiters.delete(container.id);
    emit(container);
  }

  function endOf(id: string): { ended: Promise<void>; cancel(): void } {
    const waiting = endWaiters.get(id) ?? new Set();
    endWaiters.set(id, waiting);
    let wake = () => {};
    const ended = new Promise<void>((resolve) => {
      wake = resolve;
      waiting.add(resolve);
    });
    return { ended, cancel: () => waiting.delete(wake) };
  }

  function portInUse(config: SandboxConfig): number | undefined {
    const taken = new Set(
      [...containers.values()]
        .filter((container) => container.state === 'running' && 'portMappings' in container.config)
        .flatMap((container) => (container.config as SandboxConfig).portMappings.map(portKey)),
    );
    return config.portMappings.find((mapping) => taken.has(portKey(mapping)))?.hostPort;
  }

  const runtime: ContainerRuntime = {
    async list(podUid) {
      await enter('list', podUid ?? '');
      return [...containers.values()].filter((c) => podUid === undefined || c.podUid === podUid).map(observed);
    },
    async runSandbox(config) {
      await enter('runSandbox', targetOf(config.identity));
      const taken = portInUse(config);
      if (taken !== undefined) {
        throw new RuntimeError('port-in-use', `start sandbox of ${config.identity.podName}: port ${taken} is already allocated`);
      }
      const container = create(config);
      start(container);
      if (!config.hostNetwork && container.state === 'running') container.ip = addressOf(serial);
      return observed(container);
    },
    async runContainer(config) {
      await enter('runContainer', targetOf(config.identity));
      if (containers.get(config.sandboxId)?.state !== 'running') {
        throw new RuntimeError('conflict', `create ${targetOf(config.identity)}: sandbox ${config.sandboxId} is not running`);
      }
      const container = create(config);
      start(container);
      return observed(container);
    },
    async stop(id, gracePeriodSeconds) {
      await enter('stop', labelOf(id));
      const container = containers.get(id);
      if (container?.state !== 'running') return;
      const behaviour = behaviours.get(container.containerName) ?? {};
      if (behaviour.ignoresTerm !== true) return end(container, behaviour.termExitCode ?? defaultTermCode(container));
      const waiting = endOf(id);
      await Promise.race([sleep(gracePeriodSeconds * 1000), waiting.ended]);
      waiting.cancel();
      end(container, killed);
    },
    async remove(id) {
      await enter('remove', labelOf(id));
      const container = containers.get(id);
      if (container === undefined) return;
      end(container, killed);
      containers.delete(id);
      emit(container);
    },
    events: (signal) => watch(watchers, signal),
    async version(): Promise<RuntimeVersion> {
      await enter('version', '');
      return {
        runtime: 'docker://20.10.24',
        apiVersion: '1.41',
        cgroupVersion: 1,
        cgroupDriver: 'cgroupfs',
        rootDir: '/var/lib/docker',
      };
    },
  };

  const imageService: ImageService = {
    async find(reference) {
      await enter('find', reference);
      return images.get(canonicalName(reference)) ?? [...images.values()].find((image) => image.id === reference);
    },
    async pull(reference, signal) {
      await enter('pull', reference);
      signal.throwIfAborted();
      if (options.pullable !== undefined && !options.pullable.includes(reference)) {
        throw new RuntimeError('image-not-found', `pull ${reference}: manifest unknown`);
      }
      return addImage(reference);
    },
    async list() {
      await enter('listImages', '');
      return [...images.values()];
    },
    async load(reference) {
      await enter('load', reference);
      return addImage(reference);
    },
    async remove(reference) {
      await enter('removeImage', reference);
      return images.delete(canonicalName(reference));
    },
  };

  const { access, controls } = createFakeAccess({
    enter: (method, id) => enter(method, labelOf(id)),
    isRunning: (id) => containers.get(id)?.state === 'running',
    exists: (id) => containers.has(id),
    endOf,
  });

  return {
    ...controls,
    runtime,
    images: imageService,
    access,
    calls,
    callsOf: (method) => calls.filter((call) => call.method === method),
    containers: () => [...containers.values()].map((container) => ({ ...container })),
    container(podName, containerName) {
      const found = [...containers.values()].filter((c) => c.podName === podName && c.containerName === containerName).at(-1);
      if (found === undefined) throw new Error(`no container ${podName}/${containerName} in the fake runtime`);
      return { ...found };
    },
    behave: (containerName, behaviour) => void behaviours.set(containerName, behaviour),
    exit(id, exitCode, how = {}) {
      const container = containers.get(id);
      if (container === undefined) throw new Error(`no container ${id} in the fake runtime`);
      end(container, exitCode, how.oomKilled);
    },
    failNext: (method, error) => void failures.set(method, [...(failures.get(method) ?? []), error]),
    hold(method) {
      let open = () => {};
      gates.set(
        method,
        new Promise((resolve) => {
          open = resolve;
        }),
      );
      return () => {
        gates.delete(method);
        open();
      };
    },
    setDown(value) {
      const returns = down && !value;
      down = value;
      if (returns) for (const container of containers.values()) emit(container);
    },
    loseEvents: (lose) => {
      losing = lose;
    },
  };
}

function observed(container: FakeContainer): ObservedContainer {
  const { config: _, ...rest } = container;
  return rest;
}

function defaultTermCode(container: ObservedContainer): number {
  return container.containerName === sandboxName ? 0 : gracefulExit;
}

function portKey(mapping: { hostPort: number; protocol: string }): string {
  return `${mapping.hostPort}/${mapping.protocol}`;
}

function addressOf(serial: number): string {
  return `172.17.${Math.floor(serial / 250)}.${(serial % 250) + 2}`;
}

function canonicalName(reference: string): string {
  return reference.includes('@') || /:[^/]+$/.test(reference) ? reference : `${reference}:latest`;
}

async function* watch(watchers: Set<(event: RuntimeEvent) => void>, signal: AbortSignal): AsyncIterable<RuntimeEvent> {
  const pending: RuntimeEvent[] = [];
  let wake = () => {};
  const receive = (event: RuntimeEvent) => {
    pending.push(event);
    wake();
  };
  const onAbort = () => wake();
  watchers.add(receive);
  signal.addEventListener('abort', onAbort);
  try {
    while (!signal.aborted) {
      const event = pending.shift();
      if (event !== undefined) yield event;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    watchers.delete(receive);
    signal.removeEventListener('abort', onAbort);
  }
}
