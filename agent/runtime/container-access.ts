// What is done with running containers: logs, commands, files. Part of the contract in runtime.ts, which exports it.

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
  /**
   * All output since the container's start, each byte once; of one that has ended, too.
   * Otherwise what comes from now on, but for the session that a container with `stdinOnce` waits for: the first one
   * with input has all, too.
   */
  readonly fromStart?: boolean;
}

/** What a path in a container is, links followed. */
export interface FileInfo {
  readonly name: string;
  readonly size: number;
  /** Permissions as in chmod. */
  readonly mode: number;
  readonly type: 'file' | 'directory' | 'link' | 'other';
  /** The user of the container, who owns the files that it writes. */
  readonly owner: { readonly uid: number; readonly gid: number };
}

/** Files of a container as a tar archive. The caller reads `archive` to its end, leaves the loop, or closes. */
export interface FileReading {
  readonly info: FileInfo;
  archive(): AsyncIterable<Uint8Array>;
  close(): void;
}

/**
 * What people do with running containers. Paths are in the container, with its volumes; a path that is not absolute
 * begins at its working directory. The engine locks a container while its files are read or written: the caller bounds
 * how long.
 */
export interface ContainerAccess {
  logs(id: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array>;
  exec(id: string, options: ExecOptions, signal: AbortSignal): Promise<ExecSession>;
  /** Throws `conflict` when input is wanted of a container that was made without, and for one that does not run. */
  attach(id: string, options: AttachOptions, signal: AbortSignal): Promise<AttachSession>;
  stat(id: string, path: string, signal: AbortSignal): Promise<FileInfo>;
  /** Throws `not-found` when there is no such path. */
  readFiles(id: string, path: string, signal: AbortSignal): Promise<FileReading>;
  /**
   * Unpacks a tar archive into a directory. Throws `not-found`, and `invalid` for what is read-only or no directory.
   */
  writeFiles(id: string, path: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
}

export interface CommandOptions {
  /** Counted from when the command runs; undefined: until it ends by itself or the signal aborts. */
  readonly timeoutMs: number | undefined;
  /** How much of the output is kept, of its beginning. */
  readonly maxBytes: number;
}

/** `output` is what both streams said, in the order it came. The output of a success is dropped. */
export type CommandResult =
  | { readonly type: 'succeeded' }
  | { readonly type: 'failed'; readonly exitCode: number; readonly output: string }
  | { readonly type: 'timed-out'; readonly output: string };

/** Short commands in running containers, for probes and hooks. */
export interface CommandRunner {
  /**
   * A command that is too late, or was aborted, is ended with all that it started. Throws RuntimeError when it could
   * not be run, or was aborted.
   */
  run(id: string, command: readonly string[], options: CommandOptions, signal: AbortSignal): Promise<CommandResult>;
}
