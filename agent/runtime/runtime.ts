import type { NamedPort } from '../../api/kinds/pod/named-ports.ts';

/** What is done with running containers. */
export type * from './container-access.ts';

/** The container name of a pod's sandbox, as in Kubernetes' Docker runtime. */
export const sandboxName = 'POD';
/**
 * Which container this is. Everything here is in labels, so that an agent that starts again knows it from the engine
 * alone.
 */
export interface ContainerIdentity {
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** The container's name in the pod; `sandboxName` for the sandbox. */
  readonly containerName: string;
  /** How many containers of this name came before it in this pod. */
  readonly attempt: number;
  /**
   * How many restarts in a row, without a long run between them, led to this container:
   * what the next back-off is computed from.
   */
  readonly restartsInRow?: number;
  /** The engine's runtime that the pod's containers run with; absent: its default. */
  readonly runtimeHandler?: string;
  /** The node's devices that it has for itself: ids of units by resource. Absent: none. */
  readonly heldUnits?: Readonly<Record<string, readonly string[]>>;
  /** A hash of the container's spec; another hash means that it must be replaced. */
  readonly specHash: string;
  /** Termination grace period of the pod, so that a pod that vanished from the API still ends gracefully. */
  readonly gracePeriodSeconds: number;
}

export type ContainerState = 'created' | 'running' | 'paused' | 'exited' | 'dead' | 'removing';

/** A container as the runtime sees it now. */
export interface ObservedContainer extends ContainerIdentity {
  readonly id: string;
  /** The sandbox whose network it shares; undefined for sandboxes, and for containers that an earlier version made. */
  readonly sandboxId?: string | undefined;
  readonly state: ContainerState;
  /** The reference the container was created from, and the id of that image. */
  readonly image: string;
  readonly imageId: string;
  /**
   * The name and digest that this image was pulled by: "nginx@sha256:..."; undefined for one that was made here, and
   * where it was not looked up.
   */
  readonly imageDigest?: string | undefined;
  readonly createdAt: Date;
  readonly startedAt: Date | undefined;
  readonly finishedAt: Date | undefined;
  /** Undefined while it has not ended. */
  readonly exitCode: number | undefined;
  /** Whether the kernel killed it for exceeding its memory limit. */
  readonly oomKilled: boolean;
  /** What the engine says went wrong when it did not start, e.g. a command that does not exist. */
  readonly error: string;
  /** Of the sandbox: its address in the pod network; undefined for other containers and while it has none. */
  readonly ip: string | undefined;
  /** What tells it to end, where that was said when it was made or by its image. */
  readonly stopSignal?: string | undefined;
  /** The root process's id on the machine while it runs; the cgroup files are found through it. */
  readonly pid: number | undefined;
  /** What the engine limits it to; undefined where that is not known. */
  readonly limits?: ContainerLimits | undefined;
  /** Of a sandbox that the agent itself joins to the network: true. */
  readonly routed?: true;
  /** Of such a sandbox: its ports of the machine, which the agent publishes. */
  readonly hostPorts?: readonly PortMapping[];
  /** What it keeps on the machine's disk; absent where the engine does not tell. */
  readonly files?: ContainerFilesOnDisk | undefined;
}

export interface ContainerFilesOnDisk {
  /** The folder of what it changed of its image. */
  readonly writableLayer: string | undefined;
  /** Its log; pieces that were rotated stand beside it and begin with its name. */
  readonly log: string | undefined;
  /** Folders for what its image calls volumes, which the engine makes and removes with it. */
  readonly imageVolumes?: readonly string[];
  /** Single files that it may write to: its names and name servers. */
  readonly singleFiles?: readonly string[];
}

export interface Mount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly readOnly: boolean;
  /** Whether what is mounted inside of a read-only mount is read-only too; not when absent. */
  readonly recursive?: 'no' | 'preferred' | 'required' | undefined;
  readonly propagation: 'rprivate' | 'rslave' | 'rshared';
}

export interface PortMapping {
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIP: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
}

/** A device of the machine in a container. */
export interface DeviceMapping {
  readonly hostPath: string;
  readonly containerPath: string;
  /** Of r (read), w (write) and m (make the device file). */
  readonly permissions: string;
}

/** What a container may do, and as whom. */
export interface ContainerSecurity {
  /** "user" or "user:group", numeric; undefined: the image's. */
  readonly user: string | undefined;
  /** Numeric groups of the first process besides its own. */
  readonly groups: readonly number[];
  readonly privileged: boolean;
  readonly readOnlyRootFilesystem: boolean;
  /** No process gains privileges that its parent does not have. */
  readonly noNewPrivileges: boolean;
  /** Relative to the engine's own set; "ALL" is every one, and CAP_ may stand before a name. */
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  /** Which system calls there are: the engine's own choice, all, or what the text of a profile says. */
  readonly seccomp: 'default' | 'unconfined' | { readonly profile: string };
  /** The AppArmor profile by name, or "unconfined"; undefined: the engine's own choice. */
  readonly appArmor: string | undefined;
  /** Whether the parts of /proc and /sys are open that are hidden or read-only otherwise. */
  readonly unmaskedProc: boolean;
  /** The parts of the SELinux context that the pod chooses, such as "level:s0:c1"; the engine chooses the others. */
  readonly seLinux: readonly string[];
}

/** Which namespaces a pod's containers share, besides the network's. */
export interface PodNamespaces {
  /** Processes: each container its own, one for the pod (the sandbox's), or the machine's. */
  readonly pid: 'container' | 'pod' | 'host';
  readonly ipc: 'pod' | 'host';
  /** Users: as the engine does it for all, the machine's, or never the machine's. */
  readonly users: 'engine' | 'host' | 'own';
}

/** The pod's sandbox: holds the network and IPC namespaces that the pod's containers join. */
export interface SandboxConfig {
  readonly identity: ContainerIdentity;
  readonly image: string;
  readonly hostname: string;
  readonly hostNetwork: boolean;
  readonly portMappings: readonly PortMapping[];
  readonly namespaces: PodNamespaces;
  /** Kernel parameters of the sandbox's namespaces. */
  readonly sysctls: Readonly<Record<string, string>>;
  /** As of ContainerSecurity: what the pod's containers share is labelled for them. */
  readonly seLinux: readonly string[];
  /** The pod's labels, and its ports that have names: network policies go by them. */
  readonly labels: Readonly<Record<string, string>>;
  readonly namedPorts: readonly NamedPort[];
}

/** A sandbox that does not run yet. */
export interface CreatedSandbox {
  readonly id: string;
  /** The address that it will have. */
  readonly ip: string;
  readonly runtimeHandler?: string | undefined;
}

/** CPU shares (1024 = one core), quota in microseconds per 100 ms (0 = none), memory limit in bytes (0 = none). */
export interface ContainerLimits {
  readonly cpuShares: number;
  readonly cpuQuota: number;
  readonly memoryBytes: number;
}

/** A container of a pod, fully worked out: nothing in it refers to other objects. */
export interface ContainerConfig {
  readonly identity: ContainerIdentity;
  readonly sandboxId: string;
  /** The container whose processes it sees, by id, in place of what `namespaces` says of them. */
  readonly processesOf?: string | undefined;
  readonly image: string;
  readonly command: readonly string[] | undefined;
  readonly args: readonly string[] | undefined;
  readonly workingDir: string | undefined;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly Mount[];
  readonly resources: ContainerLimits;
  readonly oomScoreAdj: number | undefined;
  readonly security: ContainerSecurity;
  readonly devices?: readonly DeviceMapping[];
  readonly namespaces: PodNamespaces;
  /** What tells it to end, by name; undefined is the image's own, or SIGTERM. */
  readonly stopSignal?: string | undefined;
  readonly tty: boolean;
  readonly stdin: boolean;
  /** Whether the standard input ends with the first client that attaches to it. */
  readonly stdinOnce: boolean;
}

/** Something happened to a container of ours: look at its pod again. Carries no state: the state is read. */
export interface RuntimeEvent {
  readonly podUid: string;
  readonly containerId: string;
}

/**
 * The container engine, as the agent needs it. Every call is bounded in time. Every error is a RuntimeError
 * (runtime-error.ts). Safe for concurrent calls. Only containers with this node's labels are ever seen or touched.
 */
export interface ContainerRuntime {
  /** All containers of this node, or those of one pod, in any state. */
  list(podUid?: string): Promise<ObservedContainer[]>;
  /**
   * Creates and starts a pod's sandbox; returns it once it runs and has its address. Where the address is known before
   * it runs, `onCreated` is told: from then on containers can be created in it. A sandbox that does not come to run is
   * removed, and another may take its place, told likewise.
   */
  runSandbox(config: SandboxConfig, onCreated?: (sandbox: CreatedSandbox) => void): Promise<ObservedContainer>;
  /**
   * Creates a container, and no more: for a sandbox that does not run yet. Returns its id,
   * for `runContainer` or `remove`.
   */
  createContainer(config: ContainerConfig): Promise<string>;
  /**
   * Creates and starts a container, or starts the one that was created for the same. If it was created but could not be
   * started, it stays, exited with its `error`, and this returns it all the same.
   */
  runContainer(config: ContainerConfig, createdId?: string): Promise<ObservedContainer>;
  /**
   * Changes what a running container may use, without touching its processes. What is 0 stays as it is. Throws
   * `not-found` when it is gone.
   */
  update(id: string, limits: ContainerLimits): Promise<void>;
  /**
   * Sends SIGTERM (or the image's stop signal), waits up to the grace period, then SIGKILL;
   * returns when it has ended. Gone is fine.
   */
  stop(id: string, gracePeriodSeconds: number): Promise<void>;
  /** Removes a container, killing it if it runs, with its anonymous volumes. Gone is fine. */
  remove(id: string): Promise<void>;
  /**
   * Hints that something changed, until aborted. Survives engine restarts by itself;
   * after a gap it yields an event for every pod.
   */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
  /**
   * The engine's name and version ("docker://20.10.24"), API version, cgroup version and driver.
   * Throws `unavailable` when it does not answer.
   */
  version(): Promise<RuntimeVersion>;
}

export interface RuntimeVersion {
  readonly runtime: string;
  readonly apiVersion: string;
  readonly cgroupVersion: 1 | 2;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly rootDir: string;
}

export interface LocalImage {
  readonly id: string;
  /** Its tags, then its digests: "nginx:1", "nginx@sha256:...". */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** The image's default user: a user, or "user:group", by number or name; "" is root. Set by `find` only. */
  readonly user?: string;
  /** What its containers run before their arguments when nothing else is said. Only `find` knows it. */
  readonly program?: string;
  /** Whether its author wants it to stay: the label io.berth.pinned. Counts only where Berth did not pull the image. */
  readonly pinned?: boolean;
}

/** The puller's credentials. */
export interface RegistryAuth {
  readonly username: string;
  readonly password: string;
  readonly identityToken?: string;
  /** The registry it is for. */
  readonly serverAddress: string;
}

/** How far a pull is. */
export interface PullProgress {
  /** The phase: contacts the registry, waits for a free slot, downloads, or unpacks. */
  readonly phase: 'asking' | 'queued' | 'downloading' | 'unpacking';
  readonly layersDone: number;
  readonly layers: number;
  readonly bytesDone: number;
  /** Of the layers whose size is known. */
  readonly bytes: number;
}

export interface PullOptions {
  readonly signal: AbortSignal;
  /** Without it the pull is anonymous. */
  readonly auth?: RegistryAuth | undefined;
  /** Told of every step of the engine's, many times a second. */
  readonly onProgress?: ((progress: PullProgress) => void) | undefined;
}

/** The engine's images. */
export interface ImageService {
  /** The image that a reference means here, or undefined when it is not present. */
  find(reference: string): Promise<LocalImage | undefined>;
  /**
   * Pulls an image, as long as its signal lets it; throws RuntimeError `image-not-found`, `image-unauthorized`,
   * `image-invalid-name` or `unavailable` with the registry's own words.
   */
  pull(reference: string, options: PullOptions): Promise<LocalImage>;
  /** Whether the registry refuses this user this image, where the words of a failed pull leave that open. */
  isRefused(reference: string, auth: RegistryAuth | undefined): Promise<boolean>;
  list(): Promise<LocalImage[]>;
  /**
   * Makes an image from a tar of its root file system (the sandbox image, which needs no registry) and gives it the
   * name, whatever had that before. Returns the image with this very content.
   */
  load(reference: string, layer: Uint8Array, entrypoint: readonly string[]): Promise<LocalImage>;
  /** Removes a name of an image, and with its last name the image; false when containers still use it. Gone is fine. */
  remove(reference: string): Promise<boolean>;
  /** The ids of the images of all containers of the engine, ours or not, in any state. */
  usedByContainers(): Promise<ReadonlySet<string>>;
}
