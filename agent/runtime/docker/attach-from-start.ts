import type { Duplex, Readable } from 'node:stream';
import type { AttachOptions, AttachSession } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { EarlyOutputs } from './early-output.ts';
import type { Engine } from './engine.ts';
import { demultiplex, type OutputChunk, undivided } from './frames.ts';
import type { Inspection } from './observe.ts';
import { createSession, detachKeys } from './session.ts';

interface From {
  readonly engine: Engine;
  readonly early: EarlyOutputs;
  /** Throws RuntimeError when the container still runs though its output has ended. */
  checkEnded(): Promise<void>;
}

/**
 * A session with all output of a container, each byte once: from the connection that joined it before it started, or
 * else from its log, in which a line stands when it is complete. Input has a connection of its own.
 */
export async function openAttachFromStart(
  { engine, early, checkEnded }: From,
  { Id: id, Config, State }: Inspection,
  options: AttachOptions,
  signal: AbortSignal,
): Promise<AttachSession> {
  const action = `attach to container ${id}`;
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const parts = { engine, action, tty: Config.Tty, signal: ends, resizePath: `/containers/${id}/resize` };
  const socket = options.stdin && State.Running ? await openInput(engine, id, action, ends) : undefined;
  const input = socket === undefined ? noInput(action) : createSession({ ...parts, socket });
  const joined = early.take(id);
  ends.addEventListener('abort', () => joined?.destroy(), { once: true });
  if (ends.aborted) joined?.destroy();

  async function* live(connection: Duplex): AsyncGenerator<OutputPiece> {
    yield* createSession({ ...parts, socket: connection }).output();
    if (!ends.aborted) await checkEnded();
  }

  async function* logged(): AsyncGenerator<OutputPiece> {
    const given = { stdout: 0, stderr: 0 };
    if (State.Running) {
      for await (const piece of readLog({ ...parts, id, follow: true })) {
        given[piece.stream] += piece.data.length;
        yield piece;
      }
      if (!ends.aborted) await checkEnded();
    }
    // Engines up to Docker 20.10 end a followed log with its container though its reader is behind.
    if (!ends.aborted) yield* behind(readLog({ ...parts, id, follow: false }), given);
  }

  return {
    ...input,
    async *output() {
      for await (const piece of joined === undefined ? logged() : live(joined)) if (options[piece.stream]) yield piece;
    },
    close() {
      over.abort();
      input.close();
    },
  };
}

type OutputPiece = Pick<OutputChunk, 'stream' | 'data'>;

/** What follows so many bytes of each stream. */
export async function* behind(
  pieces: AsyncIterable<OutputPiece>,
  given: Readonly<Record<OutputPiece['stream'], number>>,
): AsyncGenerator<OutputPiece> {
  const left = { ...given };
  for await (const { stream, data } of pieces) {
    const known = Math.min(left[stream], data.length);
    left[stream] -= known;
    if (known < data.length) yield { stream, data: data.subarray(known) };
  }
}

interface LogReading {
  readonly engine: Engine;
  readonly id: string;
  readonly action: string;
  readonly tty: boolean;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

async function* readLog({ engine, id, action, tty, follow, signal }: LogReading): AsyncGenerator<OutputPiece> {
  const query = { stdout: 1, stderr: 1, follow: follow ? 1 : 0 };
  const log: Readable = await engine.stream({ method: 'GET', path: `/containers/${id}/logs`, query, action, signal });
  try {
    yield* tty ? undivided(log) : demultiplex(log);
  } catch (error) {
    if (signal.aborted) return;
    throw new RuntimeError('unavailable', `${action}: the engine closed the stream`, { cause: error });
  } finally {
    log.destroy();
  }
}

/** Undefined when the container has ended meanwhile. */
async function openInput(engine: Engine, id: string, action: string, signal: AbortSignal): Promise<Duplex | undefined> {
  const query = { stream: 1, stdin: 1, stdout: 0, stderr: 0, detachKeys };
  try {
    const socket = await engine.hijack({ method: 'POST', path: `/containers/${id}/attach`, query, action, signal });
    // Nothing comes this way but its end.
    return socket.resume();
  } catch (error) {
    if (error instanceof RuntimeError && (error.code === 'conflict' || error.code === 'not-found')) return undefined;
    throw error;
  }
}

function noInput(action: string): Omit<AttachSession, 'output'> {
  return {
    write: () => Promise.reject(new RuntimeError('conflict', `${action}: the process takes no input`)),
    closeInput: async () => {},
    resize: async () => {},
    close: () => {},
  };
}
