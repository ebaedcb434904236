import type { ContainerAccess, LogOptions } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import { openExec } from './exec.ts';
import { demultiplex, undivided } from './frames.ts';
import type { Inventory } from './inventory.ts';

/** What people do with running containers. `nodeName` fences off containers that are not this node's. */
export function createAccess(
  engine: Engine,
  inventory: Inventory,
  isOurs: (labels: Readonly<Record<string, string>>) => boolean,
): ContainerAccess {
  async function terminalOf(id: string, action: string): Promise<boolean> {
    const inspection = await inventory.inspect(id);
    if (inspection === undefined || !isOurs(inspection.Config.Labels ?? {})) {
      throw new RuntimeError('not-found', `${action}: no container ${id} on this node`);
    }
    return inspection.Config.Tty;
  }

  async function* logs(id: string, options: LogOptions, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    if (options.limitBytes === 0) return;
    const action = `read logs of container ${id}`;
    const tty = await terminalOf(id, action);
    const stream = await engine.stream({
      method: 'GET',
      path: `/containers/${id}/logs`,
      query: logQuery(options),
      action,
      signal,
    });
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    try {
      for await (const { data } of tty ? undivided(stream) : demultiplex(stream)) {
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
  }

  return {
    logs,
    async exec(id, options, signal) {
      await terminalOf(id, `exec in container ${id}`);
      return openExec(engine, id, options, signal);
    },
  };
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
