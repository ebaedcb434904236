import { describe, expect, it } from 'vitest';
import { showCopied } from './show-copied.ts';

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i++) yield new Uint8Array(1024 * 1024);
}

function screen() {
  const log: string[] = [];
  return { log, show: (text: string) => void log.push(text), clear: () => void log.push('cleared') };
}

/** A clock that advances by `ms` with each call. */
function steps(ms: number): () => number {
  let at = 0;
  return () => (at += ms);
}

async function countOf(stream: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const piece of stream) bytes += piece.length;
  return bytes;
}

describe('the progress of a copy', () => {
  it('shows how much was copied after a second, at most five times a second, and is cleared at the end', async () => {
    const line = screen();
    expect(await countOf(showCopied(pieces(16), line, steps(100)))).toBe(16 * 1024 * 1024);
    expect(line.log).toEqual(['copied 10 MiB', 'copied 12 MiB', 'copied 14 MiB', 'copied 16 MiB', 'cleared']);
  });

  it('is not shown for a quick copy', async () => {
    const line = screen();
    expect(await countOf(showCopied(pieces(3), line, steps(100)))).toBe(3 * 1024 * 1024);
    expect(line.log).toEqual(['cleared']);
  });

  it('is cleared when the copy fails', async () => {
    const line = screen();
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield* pieces(2);
      throw new Error('the connection was lost');
    };
    await expect(countOf(showCopied(broken(), line, steps(1_000)))).rejects.toThrow('the connection was lost');
    expect(line.log.at(-1)).toBe('cleared');
  });
});
