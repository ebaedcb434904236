import { Duplex as NodeDuplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import { createDuplex } from './duplex.ts';

/** A call whose other side takes nothing until it is told to take one message more. */
function createCall() {
  const untaken: (() => void)[] = [];
  const call = new NodeDuplex({
    objectMode: true,
    read() {},
    write(_message, _encoding, done) {
      untaken.push(done);
    },
  });
  const duplex = createDuplex<Buffer, Buffer>(call as unknown as ClientDuplexStream<Buffer, Buffer>, {
    encode: (message) => message,
    decode: (bytes) => bytes,
    toError: (error) => unavailable(String(error)),
    onEnd() {},
  });
  const written = { bytes: 0 };
  /** Writes as fast as it may. */
  const write = async (size: number): Promise<void> => {
    for (;;) {
      const message = Buffer.alloc(size);
      await duplex.write(message);
      written.bytes += size;
    }
  };
  return { call, write, written, take: () => untaken.shift()?.() };
}

describe('a writer of a stream', () => {
  it.each([
    ['large messages', 64 * 1024, 192 * 1024],
    ['small messages', 100, 1_600],
  ])('waits when %s are not taken, and goes on when they are', async (_title, size, most) => {
    const { write, written, take } = createCall();
    const ended = write(size).catch(() => {});
    await turn();
    const atFirst = written.bytes;
    expect(atFirst).toBeLessThan(most);
    for (let taken = 0; taken < 50; taken++) {
      take();
      await turn();
    }
    expect(written.bytes).toBeGreaterThanOrEqual(49 * size);
    expect(written.bytes).toBeLessThanOrEqual(atFirst + 50 * size);
    void ended;
  });

  it('is told when the call ends while it waits', async () => {
    const { call, write } = createCall();
    const ended = write(64 * 1024);
    await turn();
    call.emit('error', new Error('gone'));
    call.emit('status', {});
    await expect(ended).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
