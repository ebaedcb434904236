import type { ContainerConfig, Mount, PortMapping, SandboxConfig } from '../runtime.ts';
import { labelsOf } from './labels.ts';

const longestHostname = 63;
const cpuPeriodMicros = 100_000;
// The kernel's lowest but one: a sandbox costs nothing and ends the whole pod when it dies. Kubernetes' value.
export const sandboxOomScoreAdj = -998;

const never = { Name: 'no' } as const;

/** What the engine is sent to create a sandbox. */
export function sandboxSpec(nodeName: string, config: SandboxConfig, oomScoreAdj: number): object {
  return {
    Image: config.image,
    Labels: labelsOf(nodeName, config.identity),
    // A sandbox in the machine's network has the machine's name.
    ...(config.hostNetwork ? {} : { Hostname: config.hostname.slice(0, longestHostname) }),
    ...(config.portMappings.length === 0 ? {} : { ExposedPorts: exposedPorts(config.portMappings) }),
    HostConfig: {
      NetworkMode: config.hostNetwork ? 'host' : 'bridge',
      IpcMode: 'shareable',
      ...(config.hostNetwork || config.portMappings.length === 0 ? {} : { PortBindings: portBindings(config.portMappings) }),
      LogConfig: { Type: 'none' },
      RestartPolicy: never,
      ...(oomScoreAdj === 0 ? {} : { OomScoreAdj: oomScoreAdj }),
    },
  };
}

/** What the engine is sent to create a container in a sandbox. */
export function containerSpec(nodeName: string, config: ContainerConfig, oomScoreAdj: number): object {
  const joined = `container:${config.sandboxId}`;
  return {
    Image: config.image,
    Labels: labelsOf(nodeName, config.identity),
    ...(config.command === undefined ? {} : { Entrypoint: config.command }),
    ...(config.args === undefined ? {} : { Cmd: config.args }),
    ...(config.workingDir === undefined ? {} : { WorkingDir: config.workingDir }),
    ...(config.user === undefined ? {} : { User: config.user }),
    Env: config.env.map(({ name, value }) => `${name}=${value}`),
    Tty: config.tty,
    OpenStdin: config.stdin,
    StdinOnce: config.stdinOnce,
    HostConfig: {
      NetworkMode: joined,
      IpcMode: joined,
      Mounts: config.mounts.map(bindMount),
      ...resources(config.resources),
      // Fixed at create: a container's log is bounded from its first line on.
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      RestartPolicy: never,
      Privileged: config.privileged,
      ReadonlyRootfs: config.readOnlyRootFilesystem,
      ...(oomScoreAdj === 0 ? {} : { OomScoreAdj: oomScoreAdj }),
    },
  };
}

// As mounts, not as "from:to" texts: a path may hold a colon, and a source that is missing is an error instead of a new directory.
function bindMount(mount: Mount): object {
  return {
    Type: 'bind',
    Source: mount.hostPath,
    Target: mount.containerPath,
    ReadOnly: mount.readOnly,
    BindOptions: { Propagation: mount.propagation },
  };
}

function resources({ cpuShares, cpuQuota, memoryBytes }: ContainerConfig['resources']): object {
  return {
    ...(cpuShares === 0 ? {} : { CpuShares: cpuShares }),
    ...(cpuQuota === 0 ? {} : { CpuPeriod: cpuPeriodMicros, CpuQuota: cpuQuota }),
    // Memory and swap together: a limit that can be swapped around is none.
    ...(memoryBytes === 0 ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
  };
}

function portName(mapping: PortMapping): string {
  return `${mapping.containerPort}/${mapping.protocol}`;
}

function exposedPorts(mappings: readonly PortMapping[]): object {
  return Object.fromEntries(mappings.map((mapping) => [portName(mapping), {}]));
}

function portBindings(mappings: readonly PortMapping[]): object {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const mapping of mappings) {
    const list = bindings[portName(mapping)] ?? [];
    list.push({ HostIp: mapping.hostIP, HostPort: String(mapping.hostPort) });
    bindings[portName(mapping)] = list;
  }
  return bindings;
}
