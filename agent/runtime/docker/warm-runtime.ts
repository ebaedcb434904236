import {
  type ContainerConfig,
  type ContainerRuntime,
  type CreatedSandbox,
  networkName,
  type ObservedContainer,
  type SandboxConfig,
} from '../runtime.ts';
import type { ContainerCalls } from './containers.ts';
import type { Inventory } from './inventory.ts';
import { networkMounts } from './network-files.ts';
import type { WarmNetworks } from './warm-networks.ts';

/**
 * The runtime's calls, with sandboxes that enter a warm network where there is one for them.
 * The caller sees no difference between such sandboxes and others.
 */
export function withWarmNetworks(
  calls: ContainerCalls,
  networks: WarmNetworks,
  inventory: Inventory,
): Omit<ContainerRuntime, 'events'> {
  async function isRunning(id: string, all: readonly ObservedContainer[] | undefined): Promise<boolean> {
    if (all !== undefined) return all.some((container) => container.id === id && container.state === 'running');
    return (await inventory.inspect(id))?.State.Running === true;
  }

  /** A sandbox without its network cannot hold a pod: it is reported as exited. */
  async function judged(container: ObservedContainer, all: readonly ObservedContainer[] | undefined): Promise<ObservedContainer> {
    const { network, state } = container;
    if (network === undefined || state !== 'running' || (await isRunning(network, all))) return container;
    return { ...container, state: 'exited', finishedAt: new Date(), exitCode: killedBySignal, error: 'its network is gone' };
  }

  async function runWarm(config: SandboxConfig, onCreated?: OnCreated): Promise<ObservedContainer | undefined> {
    const claim = isPlain(config) ? await networks.claim(config.identity) : undefined;
    if (claim === undefined) return undefined;
    const { network, renamed } = claim;
    let sandbox: ObservedContainer | undefined;
    try {
      sandbox = await calls.runSandbox({ ...config, network }, (id) => {
        networks.enters(network, id);
        onCreated?.({ id, ip: network.ip });
      });
      await Promise.all([renamed, networks.use(network, sandbox)]);
      return sandbox;
    } catch (error) {
      await networks.spoilt(network, error);
      if (sandbox !== undefined) await calls.remove(sandbox.id);
      return undefined;
    }
  }

  async function inNetwork(config: ContainerConfig): Promise<ContainerConfig> {
    const path = await networks.resolvConfOf(config.sandboxId);
    return path === undefined ? config : { ...config, mounts: [...config.mounts, ...networkMounts(path, config.mounts)] };
  }

  async function withNetwork(id: string, call: (id: string) => Promise<void>): Promise<void> {
    const network = networks.release(id);
    await Promise.all([call(id), ...(network === undefined ? [] : [calls.remove(network)])]);
  }

  return {
    ...calls,
    async list(podUid) {
      const all = await calls.list(podUid);
      networks.learn(all);
      const known = podUid === undefined ? all : undefined;
      const own = all.filter((container) => container.containerName !== networkName);
      return Promise.all(own.map((container) => judged(container, known)));
    },
    runSandbox: (config, onCreated) =>
      networks.during(async () => (await runWarm(config, onCreated)) ?? (await calls.runSandbox(config))),
    createContainer: (config) => networks.during(async () => calls.createContainer(await inNetwork(config))),
    runContainer: (config, createdId) =>
      networks.during(async () => calls.runContainer(createdId === undefined ? await inNetwork(config) : config, createdId)),
    // With its sandbox the network is of no use to anyone: the engine gives its address back now,
    // not when the pod's log is no longer wanted.
    stop: (id, gracePeriodSeconds) => withNetwork(id, (stopped) => calls.stop(stopped, gracePeriodSeconds)),
    remove: (id) => networks.during(() => withNetwork(id, calls.remove)),
  };
}

type OnCreated = (sandbox: CreatedSandbox) => void;

const killedBySignal = 137;

/** Whether a prepared network fits the sandbox. A new sandbox option does not compile until it is handled here. */
export function isPlain(config: SandboxConfig): boolean {
  const { identity, hostNetwork, portMappings, namespaces, sysctls, ...other } = config;
  const { image: _image, hostname: _hostname, labels: _labels, namedPorts: _ports, ...rest } = other;
  rest satisfies Record<string, never>;
  const { pid, ipc, users } = namespaces;
  const isShared = pid !== 'container' || ipc !== 'pod' || users !== 'engine';
  const isUsual = identity.runtimeHandler === undefined;
  return isUsual && !hostNetwork && portMappings.length === 0 && !isShared && Object.keys(sysctls).length === 0;
}
