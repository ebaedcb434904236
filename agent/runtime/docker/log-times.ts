import type { OutputChunk } from './frames.ts';

const newline = 10;
const space = 32;
/** The engine reads a container's output through a buffer of this size; a longer line becomes several messages. */
const longestMessage = 16 * 1024;
/** "2026-11-21T11:22:33.123456789Z " and as it looks with an offset. */
const longestTime = 40;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d) $/;

/**
 * The engine puts the time before each of its messages and cuts a long line into several: readers want it once a line,
 * at its beginning. Takes out those that stand in the middle. One filter serves one log: it remembers where the last
 * piece ended.
 */
export function createTimeFilter(): (pieces: Iterable<OutputChunk>) => Iterable<OutputChunk> {
  const inLine = { stdout: false, stderr: false };
  let dropping = false;
  return function* timeEachLineOnce(pieces) {
    for (const piece of pieces) {
      let { data } = piece;
      if (piece.start) dropping = inLine[piece.stream];
      if (dropping) {
        const end = data.indexOf(space);
        if (end < 0) continue;
        data = data.subarray(end + 1);
        dropping = false;
      }
      if (data.length === 0) continue;
      inLine[piece.stream] = data[data.length - 1] !== newline;
      yield { ...piece, data };
    }
  };
}

/**
 * The log of a terminal has no frames: finds the messages in it, so that the time filter can do its work. A message is
 * a time, a space, and then a line or `longestMessage` bytes of one.
 */
export function createTerminalSplitter(): LogSplitter {
  /** What may be the time at the beginning of a message, as far as it has come. */
  let head = Buffer.alloc(0);
  /** Of the message's content; undefined while its time is awaited. */
  let left: number | undefined;
  function* split(chunk: Uint8Array): Generator<OutputChunk> {
    let rest: Uint8Array = chunk;
    while (rest.length > 0) {
      if (left === undefined) {
        head = Buffer.concat([head, rest]);
        const end = head.indexOf(space);
        if (end < 0 && head.length < longestTime) return;
        const time = head.subarray(0, end + 1);
        const timed = timePattern.test(time.toString('latin1'));
        if (timed) yield { stream: 'stdout', data: time, start: true };
        rest = timed ? head.subarray(end + 1) : head;
        head = Buffer.alloc(0);
        left = longestMessage;
        continue;
      }
      const lineEnd = rest.indexOf(newline);
      const taken = Math.min(left, lineEnd < 0 ? rest.length : lineEnd + 1);
      const data = rest.subarray(0, taken);
      yield { stream: 'stdout', data, start: false };
      rest = rest.subarray(taken);
      left -= taken;
      if (left === 0 || data[taken - 1] === newline) left = undefined;
    }
  }
  return { split, end: () => (head.length > 0 ? [{ stream: 'stdout', data: head, start: false }] : []) };
}

/** Cuts what is read of a log into the engine's messages. One splitter serves one log. */
export interface LogSplitter {
  split(chunk: Uint8Array): Iterable<OutputChunk>;
  /** What is left when the log has ended. */
  end(): Iterable<OutputChunk>;
}

/**
 * The pieces of a log, all that one read brings as one: the engine sends every line as a message of its own, and a
 * frame for each would cost the API server and the reader far more than the line.
 */
export async function* gatherLog(
  source: AsyncIterable<Uint8Array>,
  { split, end }: LogSplitter,
  filter: (pieces: Iterable<OutputChunk>) => Iterable<OutputChunk> = (pieces) => pieces,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) yield* joined(filter(split(chunk)));
  yield* joined(filter(end()));
}

function joined(pieces: Iterable<OutputChunk>): Uint8Array[] {
  const parts = Array.from(pieces, ({ data }) => data);
  return parts.length <= 1 ? parts : [Buffer.concat(parts)];
}
