import { setTimeout as delay } from 'node:timers/promises';
import { linkAbort } from '../../../client/abort.ts';
import type {
  AttachOptions,
  AttachSession,
  ContainerAccess,
  ExecOptions,
  ExecSession,
  FileInfo,
  FileReading,
  LogOptions,
} from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { openAttach } from './attach.ts';
import { openAttachFromStart } from './attach-from-start.ts';
import type { EarlyOutputs } from './early-output.ts';
import type { Engine } from './engine.ts';
import { openExec } from './exec.ts';
import { ContainerFiles } from './files.ts';
import { createFrameSplitter } from './frames.ts';
import type { Inventory } from './inventory.ts';
import { LogEntries } from './log-entries.ts';
import { type LogFile, type LogPlace, openLogFiles, readLogFiles } from './log-files.ts';
import { createTerminalSplitter, createTimeFilter, gatherLog } from './log-times.ts';
import type { Inspection } from './observe.ts';

// The engine ends the log a moment before it notes that the container has ended.
const endPolls = 40;
const endPollMs = 50;

/** What people do with running containers. `isOurs` fences off containers that are not this node's. */
export function createAccess(
  engine: Engine,
  inventory: Inventory,
  isOurs: (labels: Readonly<Record<string, string>>) => boolean,
  early: EarlyOutputs,
): ContainerAccess {
  return new EngineAccess(engine, inventory, isOurs, early);
}

class EngineAccess implements ContainerAccess {
  readonly #engine: Engine;
  readonly #inventory: Inventory;
  readonly #isOurs: (labels: Readonly<Record<string, string>>) => boolean;
  readonly #early: EarlyOutputs;

  constructor(
    engine: Engine,
    inventory: Inventory,
    isOurs: (labels: Readonly<Record<string, string>>) => boolean,
    early: EarlyOutputs,
  ) {
    this.#engine = engine;
    this.#inventory = inventory;
    this.#isOurs = isOurs;
    this.#early = early;
  }

  async *logs(id: string, options: LogOptions, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    if (options.limitBytes === 0) return;
    const action = `read logs of container ${id}`;
    const inspection = await this.#find(id, action);
    const place = logPlaceOf(inspection);
    const files = place && (await openReadable(place));
    const source = files
      ? this.#logsOfFiles({ id, action, place, files, running: inspection.State.Running }, options, signal)
      : this.#logsOfEngine(id, action, inspection.Config.Tty, options, signal);
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    for await (const data of source) {
      yield data.length > left ? data.subarray(0, left) : data;
      left -= data.length;
      if (left <= 0) return;
    }
    if (options.follow && !signal.aborted) await this.#checkEnded(id, action);
  }

  async exec(id: string, options: ExecOptions, signal: AbortSignal): Promise<ExecSession> {
    await this.#find(id, `exec in container ${id}`);
    return openExec(this.#engine, id, options, signal);
  }

  async attach(id: string, options: AttachOptions, signal: AbortSignal): Promise<AttachSession> {
    const action = `attach to container ${id}`;
    const inspection = await this.#find(id, action);
    if (options.stdin && !inspection.Config.OpenStdin)
      throw new RuntimeError('conflict', `${action}: it was started without standard input (stdin: true in its spec)`);
    const isAwaited = options.stdin && inspection.Config.StdinOnce === true && this.#early.isUnseen(id);
    if (options.fromStart !== true && !isAwaited) return openAttach(this.#engine, inspection, options, signal);
    return openAttachFromStart(
      { engine: this.#engine, early: this.#early, checkEnded: () => this.#checkEnded(id, action) },
      inspection,
      options,
      signal,
    );
  }

  async stat(id: string, path: string, signal: AbortSignal): Promise<FileInfo> {
    return (await this.#filesOf(id, `look at ${path}`)).stat(path, signal);
  }

  async readFiles(id: string, path: string, signal: AbortSignal): Promise<FileReading> {
    return (await this.#filesOf(id, `read ${path}`)).read(path, signal);
  }

  async writeFiles(id: string, path: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    return (await this.#filesOf(id, `write to ${path}`)).write(path, archive, signal);
  }

  async #find(id: string, action: string): Promise<Inspection> {
    const inspection = await this.#inventory.inspect(id);
    if (inspection === undefined || !this.#isOurs(inspection.Config.Labels ?? {})) {
      throw new RuntimeError('not-found', `${action}: no container ${id} on this node`);
    }
    return inspection;
  }

  /**
   * Where the engine's own files cannot be read: that costs three times as much,
   * and an engine leaves lines out without a word.
   */
  async *#logsOfEngine(
    id: string,
    action: string,
    tty: boolean,
    options: LogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const request = { method: 'GET', path: `/containers/${id}/logs`, query: logQuery(options), action, signal } as const;
    const stream = await this.#engine.stream(request);
    try {
      yield* readLog(stream, tty, options.timestamps);
    } catch (error) {
      if (signal.aborted) return;
      throw new RuntimeError('unavailable', `${action}: the engine closed the stream`, { cause: error });
    } finally {
      stream.destroy();
    }
  }

  async *#logsOfFiles(log: OpenedLog, options: LogOptions, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const end = linkAbort(undefined);
    const stop = linkAbort(signal);
    const entries = new LogEntries(options);
    try {
      // Of a container that has ended the log has, too.
      if (!options.follow || !log.running) end.abort();
      else void this.#untilEnded(log, stop.signal).finally(end.abort);
      const part = { ...options, signal, ended: options.follow ? end.signal : undefined };
      for await (const block of readLogFiles(log.place, log.files, part)) {
        if (block === 'all-read') yield* entries.take();
        else if (block === 'file-ended') yield* entries.end();
        else yield* entries.push(block);
      }
      yield* entries.end();
    } catch (error) {
      yield* entries.take();
      if (error instanceof RuntimeError) throw new RuntimeError(error.code, `${log.action}: ${error.message}`);
      throw new RuntimeError('unavailable', `${log.action}: ${error instanceof Error ? error.message : error}`, { cause: error });
    } finally {
      stop.abort();
      stop.unlink();
    }
  }

  /**
   * The engine answers when the container has ended, and its log is written. Also when the engine stops:
   * `checkEnded` tells. Never throws.
   */
  async #untilEnded({ id, action }: OpenedLog, signal: AbortSignal): Promise<void> {
    try {
      const answer = await this.#engine.stream({ method: 'POST', path: `/containers/${id}/wait`, action, signal });
      for await (const _ of answer);
    } catch {
      // What went wrong is seen when the container is looked at.
    }
  }

  /** What was followed ends with its container. The engine ends it also when it stops itself: that is no end. */
  async #checkEnded(id: string, action: string): Promise<void> {
    for (let poll = 0; poll < endPolls; poll++) {
      const inspection = await this.#inventory.inspect(id);
      if (inspection === undefined || !inspection.State.Running) return;
      await delay(endPollMs);
    }
    throw new RuntimeError('unavailable', `${action}: the engine closed the stream though the container runs`);
  }

  async #filesOf(id: string, action: string): Promise<ContainerFiles> {
    return new ContainerFiles(this.#engine, await this.#find(id, action));
  }
}

interface OpenedLog {
  readonly id: string;
  readonly action: string;
  readonly place: LogPlace;
  readonly files: LogFile[];
  readonly running: boolean;
}

/**
 * The files of a log that can be read beside the engine: not those that it compresses,
 * nor the one that it empties when it is full.
 */
function logPlaceOf({ LogPath, HostConfig }: Inspection): LogPlace | undefined {
  const { Type, Config } = HostConfig?.LogConfig ?? {};
  const files = Number(Config?.['max-file'] ?? 1);
  const isPlain = Type === 'json-file' && files > 1 && Config?.compress !== 'true';
  return LogPath && isPlain ? { path: LogPath, files } : undefined;
}

/** Undefined where this process may not read them, or does not see the engine's file system. */
async function openReadable(place: LogPlace): Promise<LogFile[] | undefined> {
  try {
    return await openLogFiles(place);
  } catch {
    return undefined;
  }
}

function readLog(stream: AsyncIterable<Uint8Array>, tty: boolean, timestamps: boolean): AsyncIterable<Uint8Array> {
  if (!timestamps && tty) return stream;
  const splitter = tty ? createTerminalSplitter() : { split: createFrameSplitter(), end: () => [] };
  return gatherLog(stream, splitter, timestamps ? createTimeFilter() : undefined);
}

function logQuery(options: LogOptions): Record<string, string | number> {
  return {
    stdout: 1,
    stderr: 1,
    follow: options.follow ? 1 : 0,
    timestamps: options.timestamps ? 1 : 0,
    ...(options.tailLines === undefined ? {} : { tail: options.tailLines }),
    ...(options.sinceTime === undefined ? {} : { since: (options.sinceTime.getTime() / 1000).toFixed(3) }),
  };
}
