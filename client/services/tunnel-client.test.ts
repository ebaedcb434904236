import { afterEach, describe, expect, it } from 'vitest';
import { isCancelled, notFound } from '../../api/errors/index.ts';
import type { Open, Status } from '../../api/generated/types.ts';
import { type Script, type ScriptedStream, startScriptedServer } from '../../test/fakes/scripted-server.ts';
import { connect } from '../connect.ts';
import { fromStatus } from '../connection/status-details.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function setup(script: Script) {
  const server = await startScriptedServer(script);
  const client = connect({ address: server.address, ca: server.pki.ca });
  const stop = new AbortController();
  cleanups.push(server.stop, client.close);
  return { tunnel: client.tunnel, stop };
}

describe('tunnel', () => {
  it('says which node it is, gives what the server asks for, and can refuse', async () => {
    const frames: Record<string, unknown>[] = [];
    const { tunnel, stop } = await setup({
      duplex: {
        'berth.node.v1.Tunnel/Control': (call) =>
          call.onMessage((frame) => {
            frames.push(frame);
            if (frame.hello) call.write({ open: { streamId: 's1', podUid: 'u1', logs: { name: 'web' } } });
            if (frame.refuse) call.end();
          }),
      },
    });
    const control = tunnel.control('n1', stop.signal);
    const requests: Open[] = [];
    for await (const request of control.requests()) {
      requests.push(request);
      await control.refuse(request.streamId!, notFound({ kind: 'Pod', namespace: 'default', name: 'web' }));
    }
    expect(requests).toEqual([{ streamId: 's1', podUid: 'u1', logs: { name: 'web' } }]);
    expect(frames[0]).toEqual({ hello: { nodeName: 'n1' } });
    const refuse = frames[1]!.refuse as { streamId: string; status: Status };
    expect(refuse.streamId).toBe('s1');
    expect(fromStatus(refuse.status)).toMatchObject({ code: 'NOT_FOUND', reason: 'NotFound', subject: { name: 'web' } });
  });

  it('ends the requests with CANCELLED when it is stopped', async () => {
    const { tunnel, stop } = await setup({
      duplex: { 'berth.node.v1.Tunnel/Control': (call) => call.onMessage(() => stop.abort()) },
    });
    const reading = (async () => {
      for await (const _request of tunnel.control('n1', stop.signal).requests());
    })();
    await expect(reading).rejects.toSatisfy(isCancelled);
  });

  it('carries a command: the stream is named first, input comes in, output goes out', async () => {
    const frames: Record<string, unknown>[] = [];
    const { tunnel, stop } = await setup({
      duplex: {
        'berth.node.v1.Tunnel/Serve': (call) => {
          call.onMessage((frame) => {
            frames.push(frame);
            if (frame.streamId) call.write({ exec: { stdin: Buffer.from('in') } });
          });
          call.onEnd(call.end);
        },
      },
    });
    const stream = tunnel.serve('s1', stop.signal);
    for await (const frame of stream.input('exec')) {
      await stream.write({ exec: { stdout: frame.stdin! } });
      await stream.write({ exec: { exit: { code: 0 } } });
      stream.end();
    }
    expect(frames).toEqual([
      { streamId: 's1' },
      { exec: { stdout: Buffer.from('in') } },
      { exec: { exit: { code: 0 } } },
      { end: {} },
    ]);
    expect(stream.closed.aborted).toBe(true);
  });

  it('goes on writing after the loop over the input was left, and still notices the end', async () => {
    const frames: Record<string, unknown>[] = [];
    const { tunnel, stop } = await setup({
      duplex: {
        'berth.node.v1.Tunnel/Serve': (call) => {
          call.onMessage((frame) => {
            frames.push(frame);
            // Far more than is read ahead: the end comes after it.
            if (frame.streamId) for (let i = 0; i < 200; i++) call.write({ exec: { stdin: Buffer.alloc(16 * 1024, i) } });
          });
          call.onEnd(call.end);
        },
      },
    });
    const stream = tunnel.serve('s1', stop.signal);
    for await (const _first of stream.input('exec')) {
      await stream.write({ exec: { stdout: Buffer.from([0]) } });
      await expect.poll(() => frames).toHaveLength(2);
      break;
    }
    for (let i = 1; i < 3; i++) await stream.write({ exec: { stdout: Buffer.from([i]) } });
    stream.end();
    await closed(stream.closed);
    expect(frames.slice(1)).toEqual([...[0, 1, 2].map((i) => ({ exec: { stdout: Buffer.from([i]) } })), { end: {} }]);
  });

  it('ends the control stream when the loop over the requests is left', async () => {
    let gone = () => {};
    const noticed = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const { tunnel, stop } = await setup({
      duplex: {
        'berth.node.v1.Tunnel/Control': (call) => {
          call.onCancelled(gone);
          call.onMessage(() => void call.write({ open: { streamId: 's1' } }));
        },
      },
    });
    for await (const _request of tunnel.control('n1', stop.signal).requests()) break;
    await noticed;
  });

  it('says as its last frame why a stream failed', async () => {
    const frames: Record<string, unknown>[] = [];
    const { tunnel, stop } = await setup({
      duplex: {
        'berth.node.v1.Tunnel/Serve': (call) => {
          call.onMessage((frame) => void frames.push(frame));
          call.onEnd(call.end);
        },
      },
    });
    const stream = tunnel.serve('s1', stop.signal);
    await stream.fail(new TypeError('container has no log'));
    await closed(stream.closed);
    expect(fromStatus(frames[1]!.error as Status)).toMatchObject({ code: 'INTERNAL', message: 'container has no log' });
  });

  it('notices that the user has gone, though neither side reads or writes', async () => {
    const calls: ScriptedStream[] = [];
    const { tunnel, stop } = await setup({
      duplex: {
        'berth.node.v1.Tunnel/Serve': (call) => {
          calls.push(call);
          call.onMessage(() => call.fail({ code: 1, details: 'the user has gone' }));
        },
      },
    });
    const stream = tunnel.serve('s1', stop.signal);
    await closed(stream.closed);
    await expect(stream.write({ logs: { data: Buffer.from('x') } })).rejects.toSatisfy(isCancelled);
  });
});

function closed(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
