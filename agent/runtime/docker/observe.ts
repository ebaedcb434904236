import type { ContainerFilesOnDisk, ContainerLimits, ContainerState, ObservedContainer } from '../runtime.ts';
import { hostPortsOf, identityOf, joinedAddressOf, type Labels, label } from './labels.ts';

/** What `GET /containers/json` says of a container, as far as it is read here. */
export interface ListEntry {
  readonly Id: string;
  readonly Names?: readonly string[] | null;
  readonly Image: string;
  readonly ImageID: string;
  readonly Created: number;
  readonly State: string;
  readonly Labels: Labels | null;
  readonly NetworkSettings?: { readonly Networks?: Networks | null } | null;
}

/** What `GET /containers/{id}/json` says, as far as it is read here. */
export interface Inspection {
  readonly Id: string;
  readonly Created: string;
  readonly Image: string;
  readonly Config: {
    readonly Image: string;
    readonly Labels: Labels | null;
    readonly Tty: boolean;
    readonly OpenStdin: boolean;
    readonly StdinOnce?: boolean;
    readonly WorkingDir: string;
    readonly StopSignal?: string;
  };
  readonly HostConfig?: {
    readonly CpuShares?: number;
    readonly CpuQuota?: number;
    readonly Memory?: number;
    readonly LogConfig?: { readonly Type?: string; readonly Config?: Readonly<Record<string, string>> | null };
  };
  readonly State: {
    readonly Status: string;
    readonly Running: boolean;
    readonly OOMKilled: boolean;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly Error: string;
    readonly StartedAt: string;
    readonly FinishedAt: string;
  };
  /** The files on the machine that its containers have as /etc/hosts and /etc/resolv.conf. */
  readonly HostsPath?: string;
  readonly HostnamePath?: string;
  readonly ResolvConfPath?: string;
  readonly Mounts?: readonly { readonly Type?: string; readonly Source?: string; readonly Destination?: string }[] | null;
  /** Of the drivers that work with folders (overlay2): the one of this container. */
  readonly GraphDriver?: { readonly Data?: { readonly UpperDir?: string } | null } | null;
  /** Empty for drivers that write no file. */
  readonly LogPath?: string;
  readonly NetworkSettings?: { readonly Networks?: Networks | null; readonly SandboxKey?: string } | null;
}

type Networks = Readonly<Record<string, { readonly IPAddress?: string } | null>>;

const states: readonly ContainerState[] = ['created', 'running', 'paused', 'exited', 'dead', 'removing'];

/** The engine's word for a state; "restarting" cannot be (its restart policy is never used) and reads as running. */
export function stateOf(word: string): ContainerState {
  return states.find((state) => state === word) ?? 'running';
}

export function observeInspection(inspection: Inspection): ObservedContainer {
  const { State } = inspection;
  const createdAt = new Date(inspection.Created);
  const startedAt = instantOf(State.StartedAt);
  // The engine leaves a container that it could not start as "created", with its words in Error: it has ended, for us.
  const failed = State.Status === 'created' && State.Error !== '';
  const state = failed ? 'exited' : stateOf(State.Status);
  const ended = state === 'exited' || state === 'dead';
  return {
    ...identityOf(inspection.Config.Labels ?? {}),
    id: inspection.Id,
    sandboxId: inspection.Config.Labels?.[label.sandboxId],
    state,
    image: inspection.Config.Image,
    imageId: inspection.Image,
    createdAt,
    startedAt,
    finishedAt: ended ? (instantOf(State.FinishedAt) ?? createdAt) : undefined,
    exitCode: ended ? State.ExitCode : undefined,
    oomKilled: State.OOMKilled,
    error: State.Error,
    ip: addressOf(inspection.NetworkSettings?.Networks) ?? joinedAddressOf(inspection.Config.Labels),
    pid: State.Pid > 0 ? State.Pid : undefined,
    ...(inspection.Config.StopSignal ? { stopSignal: inspection.Config.StopSignal } : {}),
    files: filesOf(inspection),
    limits: limitsOf(inspection),
    ...routedOf(inspection.Config.Labels),
  };
}

function filesOf({ GraphDriver, LogPath, Mounts, HostsPath, HostnamePath, ResolvConfPath }: Inspection): ContainerFilesOnDisk {
  const volumes = (Mounts ?? []).flatMap(({ Type, Source = '' }) => (Type === 'volume' && Source !== '' ? [Source] : []));
  return {
    writableLayer: GraphDriver?.Data?.UpperDir || undefined,
    log: LogPath || undefined,
    imageVolumes: volumes,
    singleFiles: [HostsPath, HostnamePath, ResolvConfPath].flatMap((path) => path || []),
  };
}

function limitsOf({ HostConfig }: Inspection): ContainerLimits | undefined {
  if (HostConfig === undefined) return undefined;
  const { CpuShares = 0, CpuQuota = 0, Memory = 0 } = HostConfig;
  return { cpuShares: CpuShares, cpuQuota: Math.max(0, CpuQuota), memoryBytes: Memory };
}

/** What the list alone says; for containers that are being created, and for those that do not answer an inspect. */
export function observeEntry(entry: ListEntry): ObservedContainer {
  return {
    ...identityOf(entry.Labels ?? {}),
    id: entry.Id,
    sandboxId: entry.Labels?.[label.sandboxId],
    state: stateOf(entry.State),
    image: entry.Image,
    imageId: entry.ImageID,
    createdAt: new Date(entry.Created * 1000),
    startedAt: undefined,
    finishedAt: undefined,
    exitCode: undefined,
    oomKilled: false,
    error: '',
    ip: addressOf(entry.NetworkSettings?.Networks) ?? joinedAddressOf(entry.Labels),
    pid: undefined,
    ...routedOf(entry.Labels),
  };
}

/** A sandbox that the agent itself joins to a network has its address in a label. */
function routedOf(labels: Labels | null | undefined): Pick<ObservedContainer, 'routed' | 'hostPorts'> {
  if (!labels || joinedAddressOf(labels) === undefined) return {};
  const hostPorts = hostPortsOf(labels);
  return { routed: true, ...(hostPorts.length > 0 && { hostPorts }) };
}

/** The engine writes year 1 for "not yet". */
function instantOf(text: string): Date | undefined {
  const instant = new Date(text);
  return instant.getTime() > 0 ? instant : undefined;
}

function addressOf(networks: Networks | null | undefined): string | undefined {
  for (const network of Object.values(networks ?? {})) {
    if (network?.IPAddress !== undefined && network.IPAddress !== '') return network.IPAddress;
  }
  return undefined;
}
