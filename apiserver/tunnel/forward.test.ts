import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { field } from '../../api/codec/wire-format.ts';
import { callCancelled, unavailable } from '../../api/errors/index.ts';
import type { PodExecRequest } from '../../api/generated/types.ts';
import { forwardInput, forwardOutput } from './forward.ts';
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
  const send = async (frame: Buffer): Promise<void> => {
    received.bytes += frame.length;
    await turn();
  };
  return { received, peer: { send } };
}

describe('what an agent sends to a client', () => {
  it.each([
    ['CANCELLED when its client has gone', callCancelled()],
    ['UNAVAILABLE when the server stops', unavailable('the API server is stopping: try again')],
  ])('ends with %s', async (_, why) => {
    const { stream } = createAgent(0);
    const leaving = new AbortController();
    const carried = forwardOutput(stream, output, createClient().peer, leaving.signal);
    leaving.abort(why);
    await expect(carried).rejects.toEqual(why);
  });

  it('is kept no longer than it takes to hand it on', async () => {
    const { stream, sent, silent } = createAgent(100);
    const { peer, received } = createClient();
    const leaving = new AbortController();
    const carried = forwardOutput(stream, output, peer, leaving.signal);
    await silent;
    await turn();
    collectGarbage();
    expect(received.bytes).toBe(100 * 64 * 1024);
    expect(sent.filter((frame) => frame.deref() !== undefined).length).toBeLessThan(10);
    leaving.abort();
    await expect(carried).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('what a client sends to an agent', () => {
  const input = 1;
  const bytes = (data: Buffer): Buffer => field(2, data);

  async function carried(...frames: Buffer[]): Promise<PodExecRequest[]> {
    const sent: PodExecRequest[] = [];
    const send = async (frame: Buffer): Promise<void> => {
      const { exec } = decodeMessage<{ exec?: PodExecRequest }>('berth.node.v1.ServeResponse', frame);
      if (exec) sent.push(exec);
    };
    async function* all(): AsyncGenerator<Buffer> {
      yield* frames;
    }
    await forwardInput(all(), { frames: all(), send, close: () => {} }, input);
    return sent;
  }

  it('comes in frames of at most 32 KiB, however large those of the client are, and every byte of it in order', async () => {
    const data = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251));
    const sent = await carried(bytes(data.subarray(0, 70_000)), bytes(data.subarray(70_000)));
    expect(sent.map(({ stdin }) => stdin?.length)).toEqual([32_768, 32_768, 4_464, 30_000]);
    expect(Buffer.concat(sent.map(({ stdin }) => stdin ?? Buffer.alloc(0))).equals(data)).toBe(true);
  });

  it('is carried as it is when it is no input', async () => {
    const frames = [{ resize: { width: 80, height: 24 } }, { stdinClose: {} }];
    expect(await carried(...frames.map((frame) => encodeMessage('berth.core.v1.PodExecRequest', frame)))).toEqual(frames);
  });
});
