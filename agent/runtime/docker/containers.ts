import { longestTimerMs } from '../../../api/meta/timeout.ts';
import type {
  ContainerConfig,
  ContainerIdentity,
  ContainerLimits,
  ContainerRuntime,
  ImageService,
  ObservedContainer,
  PortMapping,
  RuntimeVersion,
  SandboxConfig,
} from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { lackingCapabilities, readEngineStatus } from './capabilities.ts';
import {
  type CreateSpec,
  containerSpec,
  limitsSpec,
  type RoutedSandboxConfig,
  sandboxOomScoreAdj,
  sandboxSpec,
} from './container-spec.ts';
import { createContainer as createNamed } from './create.ts';
import type { Engine } from './engine.ts';
import type { Inventory } from './inventory.ts';
import { checkPaths } from './long-paths.ts';
import { createReleaseNetworks, type ReleaseNetworks } from './network-release.ts';
import type { OomPolicy } from './oom-policy.ts';
import { listPortProxies } from './port-proxies.ts';
import { findTakenPort, nameOf, portInUse } from './ports.ts';

export interface ContainersOptions {
  readonly engine: Engine;
  readonly inventory: Inventory;
  readonly nodeName: string;
  readonly findImage: ImageService['find'];
  readonly oom: OomPolicy;
  /** Processes and threads of each container; 0 for no limit. */
  readonly pidsLimit: number;
  /** Instead of what the engine's own process lacks. */
  readonly lacking?: readonly string[];
}

// Starting includes the engine's own work on networks and cgroups; under load on a slow disk it takes many seconds.
const startTimeoutMs = 120_000;
// What the engine may take beyond the grace period to kill and to clean up.
const stopSlackMs = 30_000;
const removeTimeoutMs = 60_000;
const notModified = 304;

export interface ContainerCalls extends Omit<ContainerRuntime, 'events' | 'runSandbox'> {
  runSandbox(config: RoutedSandboxConfig, onCreated?: (id: string) => void): Promise<ObservedContainer>;
}

export function createContainers(options: ContainersOptions): ContainerCalls {
  const calls = new EngineContainers(options);
  // Functions of their own, for those that put something around some of them.
  return {
    version: () => calls.version(),
    list: (podUid) => calls.list(podUid),
    runSandbox: (config, onCreated) => calls.runSandbox(config, onCreated),
    createContainer: (config) => calls.createContainer(config),
    runContainer: (config, createdId) => calls.runContainer(config, createdId),
    update: (id, limits) => calls.update(id, limits),
    stop: (id, gracePeriodSeconds) => calls.stop(id, gracePeriodSeconds),
    remove: (id) => calls.remove(id),
  };
}

class EngineContainers implements ContainerCalls {
  readonly #options: ContainersOptions;
  readonly #releaseNetworks: ReleaseNetworks;
  readonly #lacking: readonly string[];

  constructor(options: ContainersOptions) {
    this.#options = options;
    this.#releaseNetworks = createReleaseNetworks(options.engine, options.inventory);
    this.#lacking = options.lacking ?? lackingCapabilities(readEngineStatus());
  }

  version(): Promise<RuntimeVersion> {
    return readVersion(this.#options.engine);
  }

  list(podUid?: string): Promise<ObservedContainer[]> {
    return this.#options.inventory.list(podUid);
  }

  async runSandbox(config: RoutedSandboxConfig, onCreated?: (id: string) => void): Promise<ObservedContainer> {
    const { oom, inventory } = this.#options;
    await this.#checkUsers(config);
    let { id, error } = await this.#tryStartSandbox(config, oom.bounded(sandboxOomScoreAdj), onCreated);
    if (error !== undefined) {
      const taken = await findTakenPort(config.portMappings);
      if (taken !== undefined) throw portInUse(config.identity, taken, await this.#isForgotten(taken), error);
      if (!oom.mayBeTheCause(error)) throw error;
      ({ id, error } = await this.#tryStartSandbox(config, 0, onCreated));
      if (error !== undefined) throw error;
      oom.refused();
    } else oom.allowed();
    return inventory.observe(id);
  }

  async createContainer(config: ContainerConfig): Promise<string> {
    const { oom, nodeName, engine } = this.#options;
    const oomScoreAdj = oom.bounded(config.oomScoreAdj ?? 0);
    await checkPaths(config, this.#options.findImage);
    const spec = containerSpec(
      {
        nodeName,
        oomScoreAdj,
        lacking: this.#lacking,
        pidsLimit: this.#options.pidsLimit,
        apiVersion: await engine.apiVersion(),
      },
      config,
    );
    return this.#create(config.identity, config.image, spec);
  }

  async runContainer(config: ContainerConfig, createdId?: string): Promise<ObservedContainer> {
    const id = createdId ?? (await this.createContainer(config));
    const error = await this.#tryStart(config.identity, id);
    const container = await this.#options.inventory.observe(id);
    // Kept by the engine with its own words; anything else (no answer, sandbox gone) is the caller's to retry.
    if (error !== undefined && container.error === '' && container.state === 'created') throw error;
    return container;
  }

  async update(id: string, limits: ContainerLimits): Promise<void> {
    await this.#options.engine.call({
      method: 'POST',
      path: `/containers/${id}/update`,
      body: limitsSpec(limits),
      action: `update container ${id}`,
    });
    this.#options.inventory.forget(id);
  }

  async stop(id: string, gracePeriodSeconds: number): Promise<void> {
    const seconds = Math.max(0, Math.ceil(gracePeriodSeconds));
    await this.#releaseNetworks(id);
    await ignoreGone(
      this.#options.engine.call({
        method: 'POST',
        path: `/containers/${id}/stop`,
        query: { t: seconds },
        action: `stop container ${id}`,
        accept: [notModified],
        timeoutMs: Math.min(seconds * 1000 + stopSlackMs, longestTimerMs),
        slow: true,
      }),
    );
    this.#options.inventory.forget(id);
  }

  async remove(id: string): Promise<void> {
    await this.#releaseNetworks(id);
    await ignoreGone(
      this.#options.engine.call({
        method: 'DELETE',
        path: `/containers/${id}`,
        query: { v: 1, force: 1 },
        action: `remove container ${id}`,
        timeoutMs: removeTimeoutMs,
        slow: true,
      }),
    );
    this.#options.inventory.forget(id);
  }

  async #start(id: string, action: string): Promise<void> {
    await this.#options.engine.call({
      method: 'POST',
      path: `/containers/${id}/start`,
      action,
      accept: [notModified],
      timeoutMs: startTimeoutMs,
    });
  }

  async #create(identity: ContainerIdentity, image: string, spec: CreateSpec): Promise<string> {
    try {
      return await createNamed({ engine: this.#options.engine, inventory: this.#options.inventory, identity, spec });
    } catch (error) {
      // The engine's "not found" may mean the image or something else that the spec names.
      const unclear = error instanceof RuntimeError && error.code === 'not-found';
      if (!unclear || (await this.#options.findImage(image)) !== undefined) throw error;
      throw new RuntimeError('image-not-found', error.message, { cause: error });
    }
  }

  /** What goes wrong, if anything. */
  async #tryStart(identity: ContainerIdentity, id: string): Promise<unknown> {
    const started = this.#options.inventory.starting(id);
    try {
      await this.#start(id, `start container ${nameOf(identity)}`);
      return undefined;
    } catch (error) {
      return error;
    } finally {
      started();
      this.#options.inventory.forget(id);
    }
  }

  /** An engine maps users for all pods or for none; a pod that must not have the machine's needs the first kind. */
  async #checkUsers({ identity, namespaces }: SandboxConfig): Promise<void> {
    if (namespaces.users !== 'own') return;
    const { SecurityOptions = [] } = await this.#options.engine.call<EngineInfo>({
      method: 'GET',
      path: '/info',
      action: 'get engine info',
    });
    if (SecurityOptions.some((option) => option.split(',').includes('name=userns'))) return;
    const why = 'hostUsers is false, and the engine of this node maps no users (its setting userns-remap)';
    throw new RuntimeError('invalid', `create sandbox ${nameOf(identity)}: ${why}`);
  }

  /** A sandbox that did not start is of no use to anyone: it is removed again. */
  async #tryStartSandbox(
    config: RoutedSandboxConfig,
    oomScoreAdj: number,
    onCreated?: (id: string) => void,
  ): Promise<{ id: string; error: unknown }> {
    const facts = { nodeName: this.#options.nodeName, oomScoreAdj, lacking: this.#lacking };
    const { identity, image } = config;
    const id = await this.#create(identity, image, sandboxSpec(facts, config));
    onCreated?.(id);
    const error = await this.#tryStart(identity, id);
    if (error !== undefined) await this.remove(id);
    return { id, error };
  }

  /**
   * An engine that was killed may keep a port, in its own memory, for a container that is gone;
   * only a restart of it gives it back.
   */
  async #isForgotten({ hostPort, protocol }: PortMapping): Promise<boolean> {
    const isIt = (port: { readonly PublicPort?: number; readonly Type?: string }) =>
      port.PublicPort === hostPort && port.Type === protocol;
    const proxies = await listPortProxies();
    if (!proxies.some((proxy) => proxy.hostPort === hostPort && proxy.protocol === protocol)) return false;
    const running = await this.#options.engine.call<{ readonly Ports?: readonly object[] | null }[]>({
      method: 'GET',
      path: '/containers/json',
      action: 'list containers',
    });
    return !running.some(({ Ports }) => (Ports ?? []).some(isIt));
  }
}

/** Already removed or being removed: the request is satisfied. */
async function ignoreGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (error instanceof RuntimeError && (error.code === 'not-found' || error.code === 'conflict')) return;
    throw error;
  }
}

interface EngineInfo {
  readonly ServerVersion: string;
  readonly CgroupDriver: string;
  readonly CgroupVersion?: string;
  readonly DockerRootDir: string;
  readonly SecurityOptions?: readonly string[];
}

async function readVersion(engine: Engine): Promise<RuntimeVersion> {
  const [apiVersion, info] = await Promise.all([
    engine.apiVersion(),
    engine.call<EngineInfo>({ method: 'GET', path: '/info', action: 'get engine info' }),
  ]);
  return {
    // Distributions append their own build to the version: 20.10.24+dfsg1.
    runtime: `docker://${info.ServerVersion.replace(/\+.*$/, '')}`,
    apiVersion,
    cgroupVersion: info.CgroupVersion === '2' ? 2 : 1,
    cgroupDriver: info.CgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs',
    rootDir: info.DockerRootDir,
  };
}
