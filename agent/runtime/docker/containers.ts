import type {
  ContainerConfig,
  ContainerIdentity,
  ContainerRuntime,
  ImageService,
  ObservedContainer,
  PortMapping,
  RuntimeVersion,
  SandboxConfig,
} from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { containerSpec, sandboxOomScoreAdj, sandboxSpec } from './container-spec.ts';
import { createContainer } from './create.ts';
import type { Engine } from './engine.ts';
import type { Inventory } from './inventory.ts';
import { createOomPolicy } from './oom-policy.ts';
import { findTakenPort } from './ports.ts';

export interface ContainersOptions {
  readonly engine: Engine;
  readonly inventory: Inventory;
  readonly nodeName: string;
  readonly findImage: ImageService['find'];
  readonly warn: (message: string) => void;
}

// Starting includes the engine's own work on networks and cgroups; under load on a slow disk it takes many seconds.
const startTimeoutMs = 120_000;
// What the engine may take beyond the grace period to kill and to clean up.
const stopSlackMs = 30_000;
// A timer that is to run longer ends at once.
const longestTimerMs = 2 ** 31 - 1;
const removeTimeoutMs = 60_000;
const notModified = 304;

export type ContainerCalls = Omit<ContainerRuntime, 'events'>;

export function createContainers(options: ContainersOptions): ContainerCalls {
  const { engine, inventory, nodeName } = options;
  const oom = createOomPolicy(options.warn);

  async function start(id: string, action: string): Promise<void> {
    await engine.call({
      method: 'POST',
      path: `/containers/${id}/start`,
      action,
      accept: [notModified],
      timeoutMs: startTimeoutMs,
    });
  }

  async function create(identity: ContainerIdentity, image: string, spec: object): Promise<string> {
    try {
      return await createContainer({ engine, inventory, nodeName, identity, spec });
    } catch (error) {
      // The engine's "not found" may mean the image or something else that the spec names.
      const unclear = error instanceof RuntimeError && error.code === 'not-found';
      if (!unclear || (await options.findImage(image)) !== undefined) throw error;
      throw new RuntimeError('image-not-found', error.message, { cause: error });
    }
  }

  async function createAndStart(
    identity: ContainerIdentity,
    image: string,
    spec: object,
  ): Promise<{ id: string; error: unknown }> {
    const id = await create(identity, image, spec);
    const started = inventory.starting(id);
    try {
      await start(id, `start container ${nameOf(identity)}`);
      return { id, error: undefined };
    } catch (error) {
      return { id, error };
    } finally {
      started();
      inventory.forget(id);
    }
  }

  async function remove(id: string): Promise<void> {
    await ignoreGone(
      engine.call({
        method: 'DELETE',
        path: `/containers/${id}`,
        query: { v: 1, force: 1 },
        action: `remove container ${id}`,
        timeoutMs: removeTimeoutMs,
        slow: true,
      }),
    );
    inventory.forget(id);
  }

  /** A sandbox that did not start is of no use to anyone: it is removed again. */
  async function tryStartSandbox(config: SandboxConfig, oomScoreAdj: number): Promise<{ id: string; error: unknown }> {
    const result = await createAndStart(config.identity, config.image, sandboxSpec(nodeName, config, oomScoreAdj));
    if (result.error !== undefined) await remove(result.id);
    return result;
  }

  async function runSandbox(config: SandboxConfig): Promise<ObservedContainer> {
    let { id, error } = await tryStartSandbox(config, oom.bounded(sandboxOomScoreAdj));
    if (error !== undefined) {
      const taken = await findTakenPort(config.portMappings);
      if (taken !== undefined) throw portInUse(config.identity, taken, error);
      if (!oom.mayBeTheCause(error)) throw error;
      ({ id, error } = await tryStartSandbox(config, 0));
      if (error !== undefined) throw error;
      oom.refused();
    } else oom.allowed();
    return inventory.observe(id);
  }

  async function runContainer(config: ContainerConfig): Promise<ObservedContainer> {
    const spec = containerSpec(nodeName, config, oom.bounded(config.oomScoreAdj ?? 0));
    const { id, error } = await createAndStart(config.identity, config.image, spec);
    const container = await inventory.observe(id);
    // Kept by the engine with its own words; anything else (no answer, sandbox gone) is the caller's to retry.
    if (error !== undefined && container.error === '' && container.state === 'created') throw error;
    return container;
  }

  async function stop(id: string, gracePeriodSeconds: number): Promise<void> {
    const seconds = Math.max(0, Math.ceil(gracePeriodSeconds));
    await ignoreGone(
      engine.call({
        method: 'POST',
        path: `/containers/${id}/stop`,
        query: { t: seconds },
        action: `stop container ${id}`,
        accept: [notModified],
        timeoutMs: Math.min(seconds * 1000 + stopSlackMs, longestTimerMs),
        slow: true,
      }),
    );
    inventory.forget(id);
  }

  return { list: (podUid) => inventory.list(podUid), runSandbox, runContainer, stop, remove, version: () => readVersion(engine) };
}

/** Gone already, or on its way: what was asked for is so. */
async function ignoreGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (error instanceof RuntimeError && (error.code === 'not-found' || error.code === 'conflict')) return;
    throw error;
  }
}

function nameOf(identity: ContainerIdentity): string {
  return `${identity.podNamespace}/${identity.podName}/${identity.containerName}`;
}

/** In words of our own: the engine's name an endpoint that is another with each try, so that equal failures would not be counted as one event. */
function portInUse(identity: ContainerIdentity, { hostIP, hostPort, protocol }: PortMapping, cause: unknown): RuntimeError {
  const port = `${hostIP === '' ? '' : `${hostIP}:`}${hostPort}/${protocol.toUpperCase()}`;
  return new RuntimeError('port-in-use', `start container ${nameOf(identity)}: host port ${port} is in use on this machine`, {
    cause,
  });
}

interface EngineInfo {
  readonly ServerVersion: string;
  readonly CgroupDriver: string;
  readonly CgroupVersion?: string;
  readonly DockerRootDir: string;
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
