import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerAccess, LogOptions } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { openAttach } from './attach.ts';
import type { Engine } from './engine.ts';
import { openExec } from './exec.ts';
import { ContainerFiles } from './files.ts';
import { createFrameSplitter } from './frames.ts';
import type { Inventory } from './inventory.ts';
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
    const { Tty } = (await find(id, action)).Config;
    const request = { method: 'GET', path: `/containers/${id}/logs`, query: logQuery(options), action, signal } as const;
    const stream = await engine.stream(request);
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    try {
      for await (const data of readLog(stream, Tty, options.timestamps)) {
        yield data.length > left ? data.subarray(0, left) : data;
        left -= data.length;
        if (left <= 0) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      throw new RuntimeError('unavailable', `${action}: the engine closed the stream`, { cause: error });
    } finally {
      stream.destroy();
    }
    if (options.follow && !signal.aborted) await checkEnded(id, action);
  }

  /** A log that was followed ends with its container. The engine ends it also when it stops itself: that is no end. */
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
    attach: async (id, options, signal) => openAttach(engine, await find(id, `attach to container ${id}`), options, signal),
    stat: async (id, path, signal) => (await filesOf(id, `look at ${path}`)).stat(path, signal),
    readFiles: async (id, path, signal) => (await filesOf(id, `read ${path}`)).read(path, signal),
    writeFiles: async (id, path, archive, signal) => (await filesOf(id, `write to ${path}`)).write(path, archive, signal),
  };
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
