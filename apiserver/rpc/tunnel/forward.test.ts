import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { field } from '../../watch/wire.ts';
import type { Duplex } from './duplex.ts';
import { forwardOutput } from './forward.ts';
import type { ServedStream } from './tunnels.ts';

const output = 2;

/** Collects garbage at once, as the tests of the runtime itself do it. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** An agent that sends so many frames and then neither sends nor ends; `silent` resolves when it has. */
function createAgent(count: number) {
  const sent: WeakRef<Buffer>[] = [];
  let fallSilent = (): void => {};
  const silent = new Promise<void>((resolve) => {
    fallSilent = resolve;
  });
  async function* frames(): AsyncGenerator<Buffer> {
    while (sent.length < count) {
      const frame = field(output, Buffer.alloc(64 * 1024));
      sent.push(new WeakRef(frame));
      yield frame;
    }
    fallSilent();
    await new Promise(() => {});
  }
  const stream: ServedStream = { frames: frames(), send: async () => {}, close: () => {} };
  return { stream, sent, silent };
}

function createClient() {
  const received = { bytes: 0 };
  const write = (frame: Buffer, done: () => void): void => {
    received.bytes += frame.length;
    setImmediate(done);
  };
  return { received, call: { write } as unknown as Duplex };
}

describe('what an agent sends to a client', () => {
  it('is kept no longer than it takes to hand it on', async () => {
    const { stream, sent, silent } = createAgent(100);
    const { call, received } = createClient();
    const leaving = new AbortController();
    const carried = forwardOutput(stream, output, call, leaving.signal);
    await silent;
    await turn();
    collectGarbage();
    expect(received.bytes).toBe(100 * 64 * 1024);
    expect(sent.filter((frame) => frame.deref() !== undefined).length).toBeLessThan(10);
    leaving.abort();
    await expect(carried).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
