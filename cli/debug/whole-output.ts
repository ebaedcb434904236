import { setTimeout as delay } from 'node:timers/promises';
import type { PodLogOptions } from '../../api/generated/types.ts';
import type { ExecOutput } from '../../client/index.ts';

/** How long to wait for the word that the session has joined, which agents of the minor version before do not give. */
const joinMs = 1_000;
/** How long output is held back at first: most commands have ended by then, and their log is whole. */
const holdMs = 300;
/** How long the session may lag behind the log. */
const lagMs = 100;
/** How long the API may take to say that a container has ended that the session could not join, and how often it is asked. */
const endsWithinMs = 5_000;
const lookEveryMs = 100;
/** How much of a log is compared with the session. */
const maxCompared = 64 * 1024;

export interface StartedLog {
  /** The container's log from its beginning. */
  log(options?: PodLogOptions): AsyncIterable<Uint8Array>;
  /** The log before the session was opened; undefined when it was too long to be compared. */
  readonly before: Buffer | undefined;
  /** Whether the container has ended. Throws ApiError. */
  ended(): Promise<boolean>;
}

/**
 * All output of a container that was started a moment ago, though the session joined it later: what came before is taken from the log. A
 * command that ends at once is shown from its log alone. Throws ApiError.
 */
export async function* wholeOutput(session: AsyncIterable<ExecOutput>, started: StartedLog): AsyncGenerator<ExecOutput> {
  const held = new Held(session);
  await held.take(joinMs, 1);
  await held.take(holdMs);
  const early = held.over ? undefined : await collectLog(started.log({ limitBytes: maxCompared + 1 }));
  await held.take(lagMs);
  if (held.over) {
    if (held.error !== undefined && !(await endsSoon(started))) throw held.error;
    yield* endedOutput(held.pieces, started);
  } else if (early === undefined || started.before === undefined) {
    // What the log holds already cannot be told from what the session brings: the log brings all of it.
    held.discard().catch(() => undefined);
    yield* asOutput(started.log({ follow: true }));
  } else {
    const skip = overlap(early, Buffer.concat(held.pieces.map(({ data }) => data)), started.before.length);
    yield { stream: 'stdout', data: early };
    yield* without(held.rest(), skip);
  }
}

/** The node knows that a container has ended, and refuses to join it, before the API says so. */
async function endsSoon({ ended }: StartedLog): Promise<boolean> {
  const deadline = performance.now() + endsWithinMs;
  while (!(await ended())) {
    if (performance.now() > deadline) return false;
    await delay(lookEveryMs);
  }
  return true;
}

/** Of both, the one that tells the two streams apart where it has everything. */
async function* endedOutput(pieces: readonly ExecOutput[], { log }: StartedLog): AsyncGenerator<ExecOutput> {
  const length = pieces.reduce((sum, { data }) => sum + data.length, 0);
  const all = await collectLog(log());
  if (all !== undefined && all.length <= length) yield* pieces;
  else yield* asOutput(log());
}

/** How many bytes at the end of the log are the first bytes of the session; none of the first `from` bytes are. */
export function overlap(log: Buffer, session: Buffer, from: number): number {
  for (let at = Math.max(from, log.length - session.length); at < log.length; at++)
    if (session.subarray(0, log.length - at).equals(log.subarray(at))) return log.length - at;
  return 0;
}

/** A log as one piece; undefined when it is too long to be compared. */
export async function collectLog(log: AsyncIterable<Uint8Array>): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const data of log) {
    pieces.push(data);
    length += data.length;
    if (length > maxCompared) return undefined;
  }
  return Buffer.concat(pieces);
}

async function* asOutput(log: AsyncIterable<Uint8Array>): AsyncGenerator<ExecOutput> {
  for await (const data of log) yield { stream: 'stdout', data: Buffer.from(data) };
}

async function* without(output: AsyncIterable<ExecOutput>, skip: number): AsyncGenerator<ExecOutput> {
  let left = skip;
  for await (const { stream, data } of output) {
    if (left < data.length) yield { stream, data: data.subarray(left) };
    left = Math.max(0, left - data.length);
  }
}

/** A session whose first output is held back. */
class Held {
  readonly pieces: ExecOutput[] = [];
  /** It has ended, with `error` or well. */
  over = false;
  error: unknown;
  readonly #session: AsyncIterator<ExecOutput>;
  #length = 0;
  #next: Promise<void> | undefined;

  constructor(session: AsyncIterable<ExecOutput>) {
    this.#session = session[Symbol.asyncIterator]();
  }

  /** Takes what comes within the time, at most so many pieces and as much as can be compared. */
  async take(ms: number, count = Number.POSITIVE_INFINITY): Promise<void> {
    const stop = new AbortController();
    let late = false;
    const timer = delay(ms, undefined, { signal: stop.signal }).then(
      () => (late = true),
      () => true,
    );
    while (!this.over && !late && this.pieces.length < count && this.#length <= 2 * maxCompared) {
      this.#next ??= this.#takeNext();
      await Promise.race([this.#next, timer]);
    }
    stop.abort();
  }

  /** What was held back, and what follows. Throws the session's error. */
  async *rest(): AsyncGenerator<ExecOutput> {
    for (;;) {
      for (const piece of this.pieces.splice(0)) yield piece;
      if (this.over) break;
      this.#next ??= this.#takeNext();
      await this.#next;
    }
    if (this.error !== undefined) throw this.error;
  }

  /** Reads on, so that the process does not wait for its output to be taken. */
  async discard(): Promise<void> {
    for await (const _ of this.rest());
  }

  async #takeNext(): Promise<void> {
    try {
      const { done, value } = await this.#session.next();
      if (done) this.over = true;
      else {
        this.pieces.push(value);
        this.#length += value.data.length;
      }
    } catch (error) {
      this.over = true;
      this.error = error;
    }
    this.#next = undefined;
  }
}
