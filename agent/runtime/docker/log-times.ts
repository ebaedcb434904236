import type { OutputChunk } from './frames.ts';

const newline = 10;
const space = 32;
/** The engine reads a container's output through a buffer of this size; a longer line becomes several messages. */
const longestMessage = 16 * 1024;
/** "2026-11-21T11:22:33.123456789Z " and as it looks with an offset. */
const longestTime = 40;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d) $/;

/**
 * The engine puts the time before each of its messages and cuts a long line into several: readers want it once a line, at its beginning.
 * Takes out those that stand in the middle. Passes pieces on as they come.
 */
export async function* timeEachLineOnce(source: AsyncIterable<OutputChunk>): AsyncGenerator<OutputChunk> {
  const inLine = { stdout: false, stderr: false };
  let dropping = false;
  for await (const chunk of source) {
    let { data } = chunk;
    if (chunk.start) dropping = inLine[chunk.stream];
    if (dropping) {
      const end = data.indexOf(space);
      if (end < 0) continue;
      data = data.subarray(end + 1);
      dropping = false;
    }
    if (data.length === 0) continue;
    inLine[chunk.stream] = data[data.length - 1] !== newline;
    yield { ...chunk, data };
  }
}

/**
 * The log of a terminal has no frames: finds the messages in it, so that `timeEachLineOnce` can do its work. A message is a time, a space,
 * and then a line or `longestMessage` bytes of one.
 */
export async function* messagesOfTerminal(source: AsyncIterable<Uint8Array>): AsyncGenerator<OutputChunk> {
  /** What may be the time at the beginning of a message, as far as it has come. */
  let head = Buffer.alloc(0);
  /** Of the message's content; undefined while its time is awaited. */
  let left: number | undefined;
  for await (const chunk of source) {
    let rest: Uint8Array = chunk;
    while (rest.length > 0) {
      if (left === undefined) {
        head = Buffer.concat([head, rest]);
        const end = head.indexOf(space);
        if (end < 0 && head.length < longestTime) break;
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
  if (head.length > 0) yield { stream: 'stdout', data: head, start: false };
}
