import type { ContainerConfig, ContainerLimits, PortMapping, SandboxConfig } from '../runtime.ts';
import { bindMounts } from './bind-mounts.ts';
import { type Labels, label, labelsOf } from './labels.ts';
import { labelOptions, namespacesSpec, securitySpec, usersSpec } from './security-spec.ts';

// The kernel's.
const longestHostname = 64;
const cpuPeriodMicros = 100_000;
// The kernel's lowest but one: a sandbox costs nothing and ends the whole pod when it dies. Kubernetes' value.
export const sandboxOomScoreAdj = -998;

/** The probes of a pod say what is well; a check that an image brings along would run beside them for nothing. */
export const noHealthcheck = { Test: ['NONE'] } as const;

const never = { Name: 'no' } as const;

/** What the engine is sent; the rest is between these functions and the engine. */
export interface CreateSpec {
  readonly Labels: Labels;
  readonly [part: string]: unknown;
}

/** What a specification depends on besides what is wanted. */
export interface SpecFacts {
  readonly nodeName: string;
  readonly oomScoreAdj: number;
  /** Capabilities that this machine cannot grant. */
  readonly lacking: readonly string[];
  /** Processes and threads of a container; 0 or absent for no limit. */
  readonly pidsLimit?: number;
  /** Of the engine, e.g. "1.41". */
  readonly apiVersion?: string;
}

/** A sandbox that the agent may join to a network of its own. */
export interface RoutedSandboxConfig extends SandboxConfig {
  /** Its address there. */
  readonly address?: string | undefined;
  /** Ports of the machine that the agent publishes, where `portMappings` are what the engine does. */
  readonly ownPorts?: readonly PortMapping[] | undefined;
}

/** What the engine is sent to create a sandbox. */
export function sandboxSpec({ nodeName, oomScoreAdj }: SpecFacts, config: RoutedSandboxConfig): CreateSpec {
  return {
    Image: config.image,
    Labels: {
      ...labelsOf(nodeName, config.identity),
      ...(config.address === undefined ? {} : { [label.ip]: config.address }),
      ...(config.ownPorts?.length ? { [label.ports]: JSON.stringify(config.ownPorts) } : {}),
    },
    Healthcheck: noHealthcheck,
    // An empty namespace, which the agent joins to its network. The engine's network "none" is one as well, but for it
    // the engine starts its own program once more inside of the container: 750 ms for a start in place of 280.
    ...(config.address === undefined ? {} : { NetworkDisabled: true }),
    // A sandbox in the machine's network has the machine's name.
    ...(config.hostNetwork ? {} : { Hostname: config.hostname.slice(0, longestHostname) }),
    ...(config.portMappings.length === 0 ? {} : { ExposedPorts: exposedPorts(config.portMappings) }),
    HostConfig: {
      ...runtimeSpec(config),
      ...(config.address === undefined && { NetworkMode: config.hostNetwork ? 'host' : 'bridge' }),
      IpcMode: 'shareable',
      ...usersSpec(config.namespaces),
      ...(config.seLinux.length === 0 ? {} : { SecurityOpt: labelOptions(config.seLinux) }),
      ...(Object.keys(config.sysctls).length === 0 ? {} : { Sysctls: config.sysctls }),
      ...(config.hostNetwork || config.portMappings.length === 0 ? {} : { PortBindings: portBindings(config.portMappings) }),
      LogConfig: { Type: 'none' },
      RestartPolicy: never,
      ...(oomScoreAdj === 0 ? {} : { OomScoreAdj: oomScoreAdj }),
    },
  };
}

/** What the engine is sent to create a container in a sandbox. */
export function containerSpec(
  { nodeName, oomScoreAdj, lacking, pidsLimit = 0, apiVersion = '' }: SpecFacts,
  config: ContainerConfig,
): CreateSpec {
  const joined = `container:${config.sandboxId}`;
  return {
    Image: config.image,
    Labels: { ...labelsOf(nodeName, config.identity), [label.sandboxId]: config.sandboxId },
    ...(config.command === undefined ? {} : { Entrypoint: config.command }),
    ...(config.args === undefined ? {} : { Cmd: config.args }),
    ...(config.workingDir === undefined ? {} : { WorkingDir: config.workingDir }),
    ...(config.security.user === undefined ? {} : { User: config.security.user }),
    ...(config.stopSignal === undefined ? {} : { StopSignal: config.stopSignal }),
    Env: config.env.map(({ name, value }) => `${name}=${value}`),
    Healthcheck: noHealthcheck,
    Tty: config.tty,
    OpenStdin: config.stdin,
    StdinOnce: config.stdinOnce,
    HostConfig: {
      NetworkMode: joined,
      ...runtimeSpec(config),
      ...namespacesSpec(config.namespaces, joined),
      ...(config.processesOf === undefined ? {} : { PidMode: `container:${config.processesOf}` }),
      Mounts: bindMounts(config.mounts, apiVersion),
      ...limitsSpec(config.resources),
      ...(pidsLimit === 0 ? {} : { PidsLimit: pidsLimit }),
      // Fixed at create: a container's log is bounded from its first line on.
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      RestartPolicy: never,
      ...securitySpec(config, lacking),
      ...(oomScoreAdj === 0 ? {} : { OomScoreAdj: oomScoreAdj }),
    },
  };
}

function runtimeSpec({ identity }: SandboxConfig | ContainerConfig): object {
  return identity.runtimeHandler === undefined ? {} : { Runtime: identity.runtimeHandler };
}

/** A container's resource limits in the engine's form, for create and update. */
export function limitsSpec({ cpuShares, cpuQuota, memoryBytes }: ContainerLimits): object {
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
