import { setTimeout as delay } from 'node:timers/promises';
import { linkAbort } from '../../../client/abort.ts';
import type { ContainerAccess, LogOptions } from '../runtime.ts';
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
  async function find(id: string, action: string): Promise<Inspection> {
    const inspection = await inventory.inspect(id);
    if (inspection === undefined || !isOurs(inspection.Config.Labels ?? {})) {
      throw new RuntimeError('not-found', `${action}: no container ${id} on this node`);
    }
    return inspection;
  }

  async function* logs(id: string, options: LogOptions, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    if (options.limitBytes === 0) return;
    const action = `read logs of container ${id}`;
    const inspection = await find(id, action);
    const place = logPlaceOf(inspection);
    const files = place && (await openReadable(place));
    const source = files
      ? logsOfFiles({ id, action, place, files, running: inspection.State.Running }, options, signal)
      : logsOfEngine(id, action, inspection.Config.Tty, options, signal);
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    for await (const data of source) {
      yield data.length > left ? data.subarray(0, left) : data;
      left -= data.length;
      if (left <= 0) return;
    }
    if (options.follow && !signal.aborted) await checkEnded(id, action);
  }

  /** Where the engine's own files cannot be read: that costs three times as much, and an engine leaves lines out without a word. */
  async function* logsOfEngine(
    id: string,
    action: string,
    tty: boolean,
    options: LogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const request = { method: 'GET', path: `/containers/${id}/logs`, query: logQuery(options), action, signal } as const;
    const stream = await engine.stream(request);
    try {
      yield* readLog(stream, tty, options.timestamps);
    } catch (error) {
      if (signal.aborted) return;
      throw new RuntimeError('unavailable', `${action}: the engine closed the stream`, { cause: error });
    } finally {
      stream.destroy();
    }
  }

  async function* logsOfFiles(log: OpenedLog, options: LogOptions, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const end = linkAbort(undefined);
    const stop = linkAbort(signal);
    const entries = new LogEntries(options);
    try {
      // Of a container that has ended the log has, too.
      if (!options.follow || !log.running) end.abort();
      else void untilEnded(log, stop.signal).finally(end.abort);
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

  /** The engine answers when the container has ended, and its log is written. Also when the engine stops: `checkEnded` tells. Never throws. */
  async function untilEnded({ id, action }: OpenedLog, signal: AbortSignal): Promise<void> {
    try {
      const answer = await engine.stream({ method: 'POST', path: `/containers/${id}/wait`, action, signal });
      for await (const _ of answer);
    } catch {
      // What went wrong is seen when the container is looked at.
    }
  }

  /** What was followed ends with its container. The engine ends it also when it stops itself: that is no end. */
  async function checkEnded(id: string, action: string): Promise<void> {
    for (let poll = 0; poll < endPolls; poll++) {
      const inspection = await inventory.inspect(id);
      if (inspection === undefined || !inspection.State.Running) return;
      await delay(endPollMs);
    }
    throw new RuntimeError('unavailable', `${action}: the engine closed the stream though the container runs`);
  }

  const filesOf = async (id: string, action: string) => new ContainerFiles(engine, await find(id, action));
  return {
    logs,
    async exec(id, options, signal) {
      await find(id, `exec in container ${id}`);
      return openExec(engine, id, options, signal);
    },
    async attach(id, options, signal) {
      const action = `attach to container ${id}`;
      const inspection = await find(id, action);
      if (options.stdin && !inspection.Config.OpenStdin)
        throw new RuntimeError('conflict', `${action}: it was started without standard input (stdin: true in its spec)`);
      if (options.fromStart !== true) return openAttach(engine, inspection, options, signal);
      return openAttachFromStart({ engine, early, checkEnded: () => checkEnded(id, action) }, inspection, options, signal);
    },
    stat: async (id, path, signal) => (await filesOf(id, `look at ${path}`)).stat(path, signal),
    readFiles: async (id, path, signal) => (await filesOf(id, `read ${path}`)).read(path, signal),
    writeFiles: async (id, path, archive, signal) => (await filesOf(id, `write to ${path}`)).write(path, archive, signal),
  };
}

interface OpenedLog {
  readonly id: string;
  readonly action: string;
  readonly place: LogPlace;
  readonly files: LogFile[];
  readonly running: boolean;
}

/** The files of a log that can be read beside the engine: not those that it compresses, nor the one that it empties when it is full. */
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
