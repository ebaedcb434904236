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
import type { FakeBehaviour, FakeCall, FakeMethod, FakeRuntimeOptions } from './fake-call.ts';
import { watch } from './fake-events.ts';
import { addressOf, portInUse } from './fake-network.ts';

export type { FakeBehaviour, FakeCall, FakeMethod, FakeRuntimeOptions } from './fake-call.ts';

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
  /**
   * Sandboxes are told of when they are created, as those are whose network was made in advance, and do not run until
   * the returned function is called.
   */
  holdCreatedSandboxes(): () => void;
  behave(containerName: string, behaviour: FakeBehaviour): void;
  /** A container ends by itself. */
  exit(id: string, exitCode: number, options?: { oomKilled?: boolean }): void;
  /** The next call of this method fails with this error. */
  failNext(method: FakeMethod, error: RuntimeError): void;
  /**
   * Calls of this method, or only those about one target ("pod/container"), wait until the returned function is called.
   */
  hold(method: FakeMethod, target?: string): () => void;
  /**
   * While true every call fails with `unavailable`; on return every watcher is told of every pod,
   * as after a restart of the engine.
   */
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

/** What the fake remembers; its ports and its levers are functions over this. */
interface FakeEngine {
  readonly options: FakeRuntimeOptions;
  readonly containers: Map<string, Mutable<FakeContainer>>;
  readonly images: Map<string, LocalImage>;
  readonly behaviours: Map<string, FakeBehaviour>;
  readonly watchers: Set<(event: RuntimeEvent) => void>;
  readonly calls: FakeCall[];
  readonly failures: Map<FakeMethod, RuntimeError[]>;
  /** By method, or by method and target. */
  readonly gates: Map<string, Promise<void>>;
  readonly endWaiters: Map<string, Set<() => void>>;
  readonly now: () => Date;
  heldSandboxes: Promise<void> | undefined;
  serial: number;
  down: boolean;
  losing: boolean;
}

export function createFakeRuntime(options: FakeRuntimeOptions = {}): FakeRuntime {
  const engine: FakeEngine = {
    options,
    containers: new Map(),
    images: new Map(),
    behaviours: new Map(),
    watchers: new Set(),
    calls: [],
    failures: new Map(),
    gates: new Map(),
    endWaiters: new Map(),
    now: options.now ?? (() => new Date()),
    heldSandboxes: undefined,
    serial: 0,
    down: false,
    losing: false,
  };
  for (const name of options.images ?? []) addImage(engine, name);
  const { access, controls } = createFakeAccess({
    enter: (method, id) => enter(engine, method, labelOf(engine, id)),
    isRunning: (id) => engine.containers.get(id)?.state === 'running',
    exists: (id) => engine.containers.has(id),
    endOf: (id) => endOf(engine, id),
  });
  return Object.assign(controls, createLevers(engine), {
    runtime: createRuntimePort(engine),
    images: createImagePort(engine),
    access,
  });
}

function addImage(engine: FakeEngine, reference: string): LocalImage {
  const name = canonicalName(reference);
  const image = { id: `sha256:${createHash('sha256').update(name).digest('hex')}`, names: [name], sizeBytes: 1_000_000 };
  engine.images.set(name, image);
  return image;
}

/** Every call passes here: it is written down, may be held, may fail. */
async function enter(engine: FakeEngine, method: FakeMethod, target: string): Promise<void> {
  engine.calls.push({ method, target, at: engine.now() });
  await engine.gates.get(method);
  await engine.gates.get(`${method} ${target}`);
  const failure = engine.failures.get(method)?.shift();
  if (failure !== undefined) throw failure;
  if (engine.down) throw new RuntimeError('unavailable', `${method} ${target}: cannot connect to the engine`);
}

function emit(engine: FakeEngine, container: ObservedContainer): void {
  if (engine.losing || engine.down) return;
  for (const watcher of engine.watchers) watcher({ podUid: container.podUid, containerId: container.id });
}

function create(engine: FakeEngine, config: SandboxConfig | ContainerConfig): Mutable<FakeContainer> {
  const { image: wanted } = config;
  const image = engine.images.get(canonicalName(wanted)) ?? [...engine.images.values()].find(({ id }) => id === wanted);
  if (image === undefined)
    throw new RuntimeError('image-not-found', `create ${targetOf(config.identity)}: no such image: ${config.image}`);
  engine.serial++;
  const id = createHash('sha256').update(`container ${engine.serial}`).digest('hex');
  const container: Mutable<FakeContainer> = {
    ...config.identity,
    id,
    sandboxId: 'sandboxId' in config ? config.sandboxId : undefined,
    config,
    state: 'created',
    image: config.image,
    imageId: image.id,
    createdAt: engine.now(),
    startedAt: undefined,
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: undefined,
    pid: undefined,
    limits: 'resources' in config ? config.resources : undefined,
  };
  engine.containers.set(id, container);
  emit(engine, container);
  return container;
}

function start(engine: FakeEngine, container: Mutable<FakeContainer>): void {
  const behaviour = engine.behaviours.get(container.containerName) ?? {};
  if (behaviour.startError !== undefined) {
    Object.assign(container, { state: 'exited', error: behaviour.startError, exitCode: notStartable, finishedAt: engine.now() });
    emit(engine, container);
    return;
  }
  container.state = 'running';
  container.startedAt = engine.now();
  container.pid = 1000 + engine.serial;
  emit(engine, container);
  if (behaviour.exitsWith !== undefined) end(engine, container, behaviour.exitsWith);
}

function end(engine: FakeEngine, container: Mutable<FakeContainer>, exitCode: number, oomKilled = false): void {
  if (container.state !== 'running') return;
  Object.assign(container, { state: 'exited', exitCode, oomKilled, finishedAt: engine.now(), pid: undefined, ip: undefined });
  for (const wake of engine.endWaiters.get(container.id) ?? []) wake();
  engine.endWaiters.delete(container.id);
  emit(engine, container);
}

function endOf(engine: FakeEngine, id: string): { ended: Promise<void>; cancel(): void } {
  const waiting = engine.endWaiters.get(id) ?? new Set();
  engine.endWaiters.set(id, waiting);
  let wake = () => {};
  const ended = new Promise<void>((resolve) => {
    wake = resolve;
    waiting.add(resolve);
  });
  return { ended, cancel: () => waiting.delete(wake) };
}

function targetOf(identity: ContainerIdentity): string {
  return `${identity.podName}/${identity.containerName}`;
}

function labelOf(engine: FakeEngine, id: string): string {
  const container = engine.containers.get(id);
  return container === undefined ? id : targetOf(container);
}

function createRuntimePort(engine: FakeEngine): ContainerRuntime {
  const sleep = engine.options.sleep ?? (async () => undefined);
  return {
    async list(podUid) {
      await enter(engine, 'list', podUid ?? '');
      return [...engine.containers.values()].filter((c) => podUid === undefined || c.podUid === podUid).map(observed);
    },
    async runSandbox(config, onCreated) {
      await enter(engine, 'runSandbox', targetOf(config.identity));
      const taken = portInUse(engine.containers.values(), config);
      if (taken !== undefined) {
        throw new RuntimeError('port-in-use', `start sandbox of ${config.identity.podName}: port ${taken} is already allocated`);
      }
      const container = create(engine, config);
      const ip = addressOf(engine.serial);
      if (engine.heldSandboxes !== undefined) {
        onCreated?.({ id: container.id, ip });
        await engine.heldSandboxes;
      }
      start(engine, container);
      if (!config.hostNetwork && container.state === 'running') container.ip = ip;
      return observed(container);
    },
    async createContainer(config) {
      await enter(engine, 'createContainer', targetOf(config.identity));
      return create(engine, config).id;
    },
    async runContainer(config, createdId) {
      await enter(engine, 'runContainer', targetOf(config.identity));
      if (engine.containers.get(config.sandboxId)?.state !== 'running') {
        throw new RuntimeError('conflict', `create ${targetOf(config.identity)}: sandbox ${config.sandboxId} is not running`);
      }
      const container = engine.containers.get(createdId ?? '') ?? create(engine, config);
      start(engine, container);
      return observed(container);
    },
    async update(id, limits) {
      await enter(engine, 'update', labelOf(engine, id));
      const container = engine.containers.get(id);
      if (container === undefined) throw new RuntimeError('not-found', `update ${id}: no such container`);
      container.limits = limits;
      emit(engine, container);
    },
    async stop(id, gracePeriodSeconds) {
      await enter(engine, 'stop', labelOf(engine, id));
      const container = engine.containers.get(id);
      if (container?.state !== 'running') return;
      const behaviour = engine.behaviours.get(container.containerName) ?? {};
      if (behaviour.ignoresTerm !== true) return end(engine, container, behaviour.termExitCode ?? defaultTermCode(container));
      const waiting = endOf(engine, id);
      await Promise.race([sleep(gracePeriodSeconds * 1000), waiting.ended]);
      waiting.cancel();
      end(engine, container, killed);
    },
    async remove(id) {
      await enter(engine, 'remove', labelOf(engine, id));
      const container = engine.containers.get(id);
      if (container === undefined) return;
      end(engine, container, killed);
      engine.containers.delete(id);
      emit(engine, container);
    },
    events: (signal) => watch(engine.watchers, signal),
    async version(): Promise<RuntimeVersion> {
      await enter(engine, 'version', '');
      return {
        runtime: 'docker://20.10.24',
        apiVersion: '1.41',
        cgroupVersion: 1,
        cgroupDriver: 'cgroupfs',
        rootDir: '/var/lib/docker',
      };
    },
  };
}

function createImagePort(engine: FakeEngine): ImageService {
  return {
    async find(reference) {
      await enter(engine, 'find', reference);
      return engine.images.get(canonicalName(reference)) ?? [...engine.images.values()].find((image) => image.id === reference);
    },
    async pull(reference, { signal }) {
      await enter(engine, 'pull', reference);
      signal.throwIfAborted();
      if (engine.options.pullable?.includes(reference) === false)
        throw new RuntimeError('image-not-found', `pull ${reference}: manifest unknown`);
      return addImage(engine, reference);
    },
    async list() {
      await enter(engine, 'listImages', '');
      return [...engine.images.values()];
    },
    async load(reference) {
      await enter(engine, 'load', reference);
      return addImage(engine, reference);
    },
    async remove(reference) {
      await enter(engine, 'removeImage', reference);
      return engine.images.delete(canonicalName(reference));
    },
    isRefused: async () => false,
    usedByContainers: async () => new Set([...engine.containers.values()].map(({ imageId }) => imageId)),
  };
}

type Levers = Omit<FakeRuntime, keyof FakeAccessControls | 'runtime' | 'images' | 'access'>;

function createLevers(engine: FakeEngine): Levers {
  return {
    calls: engine.calls,
    callsOf: (method) => engine.calls.filter((call) => call.method === method),
    containers: () => [...engine.containers.values()].map((container) => ({ ...container })),
    container(podName, containerName) {
      const found = [...engine.containers.values()]
        .filter((c) => c.podName === podName && c.containerName === containerName)
        .at(-1);
      if (found === undefined) throw new Error(`no container ${podName}/${containerName} in the fake runtime`);
      return { ...found };
    },
    behave: (containerName, behaviour) => void engine.behaviours.set(containerName, behaviour),
    exit(id, exitCode, how = {}) {
      const container = engine.containers.get(id);
      if (container === undefined) throw new Error(`no container ${id} in the fake runtime`);
      end(engine, container, exitCode, how.oomKilled);
    },
    holdCreatedSandboxes() {
      let open = () => {};
      engine.heldSandboxes = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
    failNext: (method, error) => void engine.failures.set(method, [...(engine.failures.get(method) ?? []), error]),
    hold(method, target) {
      const gate = target === undefined ? method : `${method} ${target}`;
      let open = () => {};
      engine.gates.set(
        gate,
        new Promise((resolve) => {
          open = resolve;
        }),
      );
      return () => {
        engine.gates.delete(gate);
        open();
      };
    },
    setDown(value) {
      const returns = engine.down && !value;
      engine.down = value;
      if (returns) for (const container of engine.containers.values()) emit(engine, container);
    },
    loseEvents: (lose) => {
      engine.losing = lose;
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

function canonicalName(reference: string): string {
  return reference.includes('@') || /:[^/]+$/.test(reference) ? reference : `${reference}:latest`;
}
