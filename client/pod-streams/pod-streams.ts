import type {
  FileStat,
  PodAttachOptions,
  PodExecOptions,
  PodFilesOptions,
  PodLogOptions,
  PodLogsResponse,
} from '../../api/generated/types.ts';
import type { CallOptions, ObjectKey } from '../services/resource-client.ts';

/**
 * What streams to and from pods, each with flow control from end to end:
 * nothing is read or written faster than the other side.
 */
export interface PodStreams {
  /**
   * What the container wrote, piece by piece; with `follow` until it ends or the call is aborted. OUT_OF_RANGE
   * (`isExpired`): the node has deleted lines that a slow reader had not followed to. `followLogs` goes on behind them,
   * and after a lost connection.
   */
  logs(key: ObjectKey, options?: PodLogOptions, call?: CallOptions): AsyncIterable<Buffer>;
  /**
   * The same as the server sends it: first which run of the container it is, then data.
   * With `containerID` only of this run.
   */
  logResponses(key: LogKey, options?: PodLogOptions, call?: CallOptions): AsyncIterable<PodLogsResponse>;
  /** Runs a command in a running container. */
  exec(key: ObjectKey, options: PodExecOptions, call?: CallOptions): ExecStream;
  /**
   * Joins the standard streams of a running container. With `fromStart` all output comes since its start, each byte
   * once, also of one that has ended.
   */
  attach(key: AttachKey, options: PodAttachOptions, call?: CallOptions): AttachedStream;
  /** Opens one connection to a port, as seen from inside of the pod. */
  portForward(key: ObjectKey, port: number, call?: CallOptions): PortForwardStream;
  /** What a path in a container is. NOT_FOUND: there is no such path, pod or container. */
  stat(key: ObjectKey, files: PodFilesOptions, call?: CallOptions): Promise<FileStat>;
  /**
   * A file or directory of a container with its volumes, as a tar archive in pieces;
   * the first part of every name in it stands for the path.
   */
  readFiles(key: ObjectKey, files: PodFilesOptions, call?: CallOptions): AsyncIterable<Buffer>;
  /** Unpacks a tar archive into a directory of a container. Resolves when all is written. */
  writeFiles(key: ObjectKey, files: PodFilesOptions, archive: AsyncIterable<Uint8Array>, call?: CallOptions): Promise<void>;
}

/** A container's log, or that of one run of it. */
export interface LogKey extends ObjectKey {
  readonly containerID?: string | undefined;
}

/** A container's streams from now on, or since its start. */
export interface AttachKey extends ObjectKey {
  readonly fromStart?: boolean | undefined;
}

export interface ExecOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

/** The standard streams of a process. The caller reads `output` to its end, or closes. */
export interface AttachStream {
  /** Input of the process; resolves when there is room for more. */
  write(data: Uint8Array): Promise<void>;
  /** The input has ended; the output goes on. */
  closeInput(): void;
  /** The terminal's new size in characters. */
  resize(width: number, height: number): void;
  /**
   * Output as it comes, until the process ends. May be read once; leaving the loop early closes.
   * Throws ApiError on failure.
   */
  output(): AsyncIterable<ExecOutput>;
  /** Ends the call, also in the middle; the process loses its terminal. */
  close(): void;
}

/** The streams of a container that was joined. */
export interface AttachedStream extends AttachStream {
  /**
   * Whether the output is that since the start, known with its first piece and at its end.
   * Agents of the minor version before cannot do it.
   */
  isFromStart(): boolean;
}

/** A command that runs in a container. */
export interface ExecStream extends AttachStream {
  /**
   * The command's exit code, known when `output` has been read to its end;
   * throws CANCELLED when that was not waited for.
   */
  exitCode(): Promise<number>;
}

/** A connection to a port of a pod. The caller closes it. */
export interface PortForwardStream {
  /** Sends bytes; resolves when there is room for more. Throws when the connection is over. */
  write(data: Uint8Array): Promise<void>;
  /** Sends no more; reading goes on. */
  end(): void;
  /**
   * What the pod sends, until it sends no more. May be read once. Throws ApiError, e.g.
   * when nothing listens on the port.
   */
  output(): AsyncIterable<Buffer>;
  /** Aborted when both directions have ended or the connection is lost. */
  readonly closed: AbortSignal;
  close(): void;
}
