/** The container name of a pod's sandbox, as in Kubernetes' Docker runtime. */
export const sandboxName = 'POD';

/** Which container this is. Everything here is in labels, so that an agent that starts again knows it from the engine alone. */
export interface ContainerIdentity {
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** The container's name in the pod; `sandboxName` for the sandbox. */
  readonly containerName: string;
  /** How many containers of this name came before it in this pod. */
  readonly attempt: number;
  /** How many restarts in a row, without a long run between them, led to this container: what the next back-off is computed from. */
  readonly restartsInRow?: number;
  /** A hash of the container's spec; another hash means that it must be replaced. */
  readonly specHash: string;
  /** Termination grace period of the pod, so that a pod that vanished from the API still ends gracefully. */
  readonly gracePeriodSeconds: number;
}

export type ContainerState = 'created' | 'running' | 'paused' | 'exited' | 'dead' | 'removing';

/** A container as the runtime sees it now. */
export interface ObservedContainer extends ContainerIdentity {
  readonly id: string;
  readonly state: ContainerState;
  /** The reference the container was created from, and the id of that image. */
  readonly image: string;
  readonly imageId: string;
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
  /** The root process's id on the machine while it runs; the cgroup files are found through it. */
  readonly pid: number | undefined;
}

export interface Mount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly readOnly: boolean;
  readonly propagation: 'rprivate' | 'rslave' | 'rshared';
}

export interface PortMapping {
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIP: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
}

/** The pod's sandbox: holds the network and IPC namespaces that the pod's containers join. */
export interface SandboxConfig {
  readonly identity: ContainerIdentity;
  readonly image: string;
  readonly hostname: string;
  readonly hostNetwork: boolean;
  readonly portMappings: readonly PortMapping[];
}

/** A container of a pod, fully worked out: nothing in it refers to other objects. */
export interface ContainerConfig {
  readonly identity: ContainerIdentity;
  readonly sandboxId: string;
  readonly image: string;
  readonly command: readonly string[] | undefined;
  readonly args: readonly string[] | undefined;
  readonly workingDir: string | undefined;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly Mount[];
  /** CPU shares (1024 = one core), quota in microseconds per 100 ms (0 = none), memory limit in bytes (0 = none). */
  readonly resources: { readonly cpuShares: number; readonly cpuQuota: number; readonly memoryBytes: number };
  readonly oomScoreAdj: number | undefined;
  readonly user: string | undefined;
  readonly privileged: boolean;
  readonly readOnlyRootFilesystem: boolean;
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
 * The container engine, as the agent needs it. Every call is bounded in time. Every error is a RuntimeError (runtime-error.ts).
 * Safe for concurrent calls. Only containers with this node's labels are ever seen or touched.
 */
export interface ContainerRuntime {
  /** All containers of this node, or those of one pod, in any state. */
  list(podUid?: string): Promise<ObservedContainer[]>;
  /** Creates and starts a pod's sandbox; returns it once it runs and has its address. */
  runSandbox(config: SandboxConfig): Promise<ObservedContainer>;
  /** Creates and starts a container. If it was created but could not be started, it stays, exited with its `error`, and this returns it all the same. */
  runContainer(config: ContainerConfig): Promise<ObservedContainer>;
  /** Sends SIGTERM (or the image's stop signal), waits up to the grace period, then SIGKILL; returns when it has ended. Gone is fine. */
  stop(id: string, gracePeriodSeconds: number): Promise<void>;
  /** Removes a container, killing it if it runs, with its anonymous volumes. Gone is fine. */
  remove(id: string): Promise<void>;
  /** Hints that something changed, until aborted. Survives engine restarts by itself; after a gap it yields an event for every pod. */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
  /** The engine's name and version ("docker://20.10.24"), API version, cgroup version and driver. Throws `unavailable` when it does not answer. */
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
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** The engine's images. */
export interface ImageService {
  /** The image that a reference means here, or undefined when it is not present. */
  find(reference: string): Promise<LocalImage | undefined>;
  /** Pulls an image; throws RuntimeError `image-not-found`, `image-unauthorized`, `image-invalid-name` or `unavailable` with the registry's own words. */
  pull(reference: string, signal: AbortSignal): Promise<LocalImage>;
  list(): Promise<LocalImage[]>;
  /** Makes an image from a tar of its root file system (the sandbox image, which needs no registry). */
  load(reference: string, layer: Uint8Array, entrypoint: readonly string[]): Promise<LocalImage>;
  /** Removes an image; false when containers still use it. Gone is fine. */
  remove(reference: string): Promise<boolean>;
}

export interface LogOptions {
  readonly follow: boolean;
  readonly tailLines: number | undefined;
  readonly sinceTime: Date | undefined;
  readonly timestamps: boolean;
  readonly limitBytes: number | undefined;
}

export interface ExecOptions {
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
}

/** The standard streams of a process. Reading applies back-pressure; closing kills nothing but the streams. */
export interface AttachSession {
  /** Output in order; ends when the process has ended. May be read once. */
  output(): AsyncIterable<{ readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }>;
  /** Resolves when the engine has taken the bytes. */
  write(data: Uint8Array): Promise<void>;
  closeInput(): Promise<void>;
  /** The newest size wins; a process that has not started or has ended is no error. */
  resize(width: number, height: number): Promise<void>;
  close(): void;
}

/** A command that runs in a container. */
export interface ExecSession extends AttachSession {
  /** The exit code, once `output` has ended. */
  exitCode(): Promise<number>;
}

export interface AttachOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** What a path in a container is, links followed. */
export interface FileInfo {
  readonly name: string;
  readonly size: number;
  /** Permissions as in chmod. */
  readonly mode: number;
  readonly type: 'file' | 'directory' | 'link' | 'other';
  /** As whom the container runs: what it writes belongs to them. */
  readonly owner: { readonly uid: number; readonly gid: number };
}

/** Files of a container as a tar archive. Whoever has it reads `archive` to its end, leaves the loop, or closes. */
export interface FileReading {
  readonly info: FileInfo;
  archive(): AsyncIterable<Uint8Array>;
  close(): void;
}

/**
 * What people do with running containers. Paths are in the container, with its volumes; a path that is not absolute begins at its working
 * directory. The engine locks a container while its files are read or written: whoever uses these two bounds how long.
 */
export interface ContainerAccess {
  logs(id: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array>;
  exec(id: string, options: ExecOptions, signal: AbortSignal): Promise<ExecSession>;
  /** Throws `conflict` when input is wanted of a container that was started without. */
  attach(id: string, options: AttachOptions, signal: AbortSignal): Promise<AttachSession>;
  stat(id: string, path: string, signal: AbortSignal): Promise<FileInfo>;
  /** Throws `not-found` when there is no such path. */
  readFiles(id: string, path: string, signal: AbortSignal): Promise<FileReading>;
  /** Unpacks a tar archive into a directory. Throws `not-found`, and `invalid` for what is read-only or no directory. */
  writeFiles(id: string, path: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
}
