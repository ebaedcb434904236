/** A piece of a container's output. */
export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Uint8Array;
  /** Whether one of the engine's messages begins here; of a log, a line or 16 KiB of a longer one. */
  readonly start: boolean;
}

const headerLength = 8;
const stderrType = 2;

/**
 * Takes Docker's multiplexed stream apart: 8 bytes of header (type, three zeros, length big-endian), then that many
 * bytes. Pieces are passed on as they come, without collecting whole frames, so that memory is bounded by one chunk.
 */
export function createFrameSplitter(): (chunk: Uint8Array) => Iterable<OutputChunk> {
  const header = Buffer.alloc(headerLength);
  let filled = 0;
  let left = 0;
  let start = true;
  return function* split(chunk) {
    let at = 0;
    while (at < chunk.length) {
      if (left === 0) {
        const taken = Math.min(headerLength - filled, chunk.length - at);
        header.set(chunk.subarray(at, at + taken), filled);
        filled += taken;
        at += taken;
        if (filled < headerLength) break;
        filled = 0;
        left = header.readUInt32BE(4);
        start = true;
        continue;
      }
      const data = chunk.subarray(at, at + Math.min(left, chunk.length - at));
      at += data.length;
      left -= data.length;
      yield { stream: header[0] === stderrType ? 'stderr' : 'stdout', data, start };
      start = false;
    }
  };
}

/** The pieces of a multiplexed stream. Reads only when it is read from. */
export async function* demultiplex(source: AsyncIterable<Uint8Array>): AsyncGenerator<OutputChunk> {
  const split = createFrameSplitter();
  for await (const chunk of source) yield* split(chunk);
}

/** The output of a terminal: one stream, as it is. */
export async function* undivided(source: AsyncIterable<Uint8Array>): AsyncGenerator<OutputChunk> {
  for await (const data of source) yield { stream: 'stdout', data, start: false };
}
