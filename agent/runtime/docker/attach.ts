import type { AttachOptions, AttachSession } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import type { Inspection } from './observe.ts';
import { createSession, detachKeys } from './session.ts';

/** Joins the standard streams of a running container over a connection of its own; what was written before is not repeated. */
export async function openAttach(
  engine: Engine,
  { Id: id, Config }: Inspection,
  options: AttachOptions,
  signal: AbortSignal,
): Promise<AttachSession> {
  const action = `attach to container ${id}`;
  if (options.stdin && !Config.OpenStdin)
    throw new RuntimeError('conflict', `${action}: it was started without standard input (stdin: true in its spec)`);
  const flag = (wanted: boolean): number => (wanted ? 1 : 0);
  const query = { stream: 1, stdin: flag(options.stdin), stdout: flag(options.stdout), stderr: flag(options.stderr), detachKeys };
  const socket = await engine.hijack({ method: 'POST', path: `/containers/${id}/attach`, query, action, signal });
  return createSession({ engine, socket, action, tty: Config.Tty, signal, resizePath: `/containers/${id}/resize` });
}
