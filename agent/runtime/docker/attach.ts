import type { AttachOptions, AttachSession } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { Engine } from './engine.ts';
import type { Inspection } from './observe.ts';
import { createSession, detachKeys } from './session.ts';

/** How long nothing may come from a container that has ended before its output counts as ended. */
const quietMs = 500;
const lookMs = 100;

interface Output {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Uint8Array;
}

/**
 * Joins the standard streams of a running container over a connection of its own;
 * what was written before is not repeated. Throws RuntimeError when it does not run: the engine would join it all the
 * same, and nothing would come.
 */
export async function openAttach(
  engine: Engine,
  { Id: id, Config, State }: Inspection,
  options: AttachOptions,
  signal: AbortSignal,
): Promise<AttachSession> {
  const action = `attach to container ${id}`;
  if (!State.Running) throw new RuntimeError('conflict', `${action}: it is not running`);
  const flag = (wanted: boolean): number => (wanted ? 1 : 0);
  const query = { stream: 1, stdin: flag(options.stdin), stdout: flag(options.stdout), stderr: flag(options.stderr), detachKeys };
  const socket = await engine.hijack({ method: 'POST', path: `/containers/${id}/attach`, query, action, signal });
  const session = createSession({ engine, socket, action, tty: Config.Tty, signal, resizePath: `/containers/${id}/resize` });
  return { ...session, output: () => outputUntilEnded(engine, id, session) };
}

/**
 * The engine never ends the stream of a container that had ended before the stream was joined:
 * the container's end is watched too.
 */
async function* outputUntilEnded(engine: Engine, id: string, session: AttachSession): AsyncGenerator<Output> {
  const over = new AbortController();
  let waitingSince: number | undefined = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const closeWhenQuiet = (): void => {
    if (over.signal.aborted) return;
    timer = setInterval(() => {
      if (waitingSince !== undefined && performance.now() - waitingSince >= quietMs) session.close();
    }, lookMs);
  };
  // Without an answer the engine is gone, and the session with it.
  waitForEnd(engine, id, over.signal).then(closeWhenQuiet, () => undefined);
  try {
    for await (const chunk of session.output()) {
      // A reader that is slow leaves output behind that has not been read: that is not quiet.
      waitingSince = undefined;
      yield chunk;
      waitingSince = performance.now();
    }
  } finally {
    over.abort();
    clearInterval(timer);
  }
}

async function waitForEnd(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
  const query = { condition: 'not-running' };
  const action = `wait for container ${id}`;
  const answer = await engine.stream({ method: 'POST', path: `/containers/${id}/wait`, query, action, signal });
  for await (const _ of answer);
}
