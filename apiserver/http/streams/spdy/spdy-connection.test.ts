import { Duplex, PassThrough, Writable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { controlFrame, dataFrame, frameTypes, openFrame, pingFrame } from './frames.ts';
import { HeaderWriter, uint32 } from './header-blocks.ts';
import { readFrames, type SpdyFrame } from './read-frames.ts';
import { SpdyConnection, type SpdyStream } from './spdy-connection.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A connection whose client is the test; what the server says is read frame by frame. */
function start({ mostStreams = 4, wanted = true } = {}) {
  const up = new PassThrough();
  const down = new PassThrough();
  // As a socket, whose other side reads what was written before the end.
  const writable = new Writable({
    write(chunk, _, done) {
      down.write(chunk, done);
    },
    destroy(_, done) {
      down.end();
      done(null);
    },
  });
  const way = Duplex.from({ readable: up, writable });
  const streams: SpdyStream[] = [];
  const connection = new SpdyConnection(way, {
    mostStreams,
    accept: (stream) => (wanted ? () => void streams.push(stream) : undefined),
  });
  const headers = new HeaderWriter();
  const said = readFrames(down);
  return {
    connection,
    streams,
    up,
    way,
    ended: connection.run(),
    send: (...frames: Buffer[]) => up.write(Buffer.concat(frames)),
    open: (id: number, isLast = false) => openFrame(id, headers.write([['streamtype', 'data']]), isLast),
    hear: async (): Promise<SpdyFrame | undefined> => (await said.next()).value ?? undefined,
  };
}

async function textOf(stream: SpdyStream): Promise<string> {
  let text = '';
  for await (const bytes of stream.input()) text += bytes;
  return text;
}

describe('a connection of SPDY', () => {
  it('tells the client that a stream is accepted before anything else of it', async () => {
    const { send, open, hear, streams } = start();
    send(open(1));
    expect(await hear()).toMatchObject({ of: 'reply', stream: 1 });
    await streams[0]!.write(Buffer.from('hello'));
    expect(await hear()).toMatchObject({ of: 'data', stream: 1, bytes: Buffer.from('hello') });
  });

  it('gives a stream what the client sends to it, up to its end', async () => {
    const { send, open, hear, streams } = start();
    send(open(1), open(3), dataFrame(1, Buffer.from('one')), dataFrame(3, Buffer.from('three'), true));
    await hear();
    await hear();
    send(dataFrame(1, Buffer.from(' more')), dataFrame(1, Buffer.alloc(0), true));
    expect(await Promise.all(streams.map(textOf))).toEqual(['one more', 'three']);
  });

  it('refuses streams that are not wanted, and those beyond the bound', async () => {
    const unwanted = start({ wanted: false });
    unwanted.send(unwanted.open(1));
    expect(await unwanted.hear()).toEqual({ of: 'reset', stream: 1 });
    const { send, open, hear } = start({ mostStreams: 2 });
    send(open(1), open(3), open(5));
    expect([await hear(), await hear(), await hear()].map((frame) => frame?.of)).toEqual(['reply', 'reply', 'reset']);
  });

  it('has room again when a stream has ended on both sides, or was reset', async () => {
    const { send, open, hear, streams } = start({ mostStreams: 1 });
    send(open(1, true));
    await hear();
    await streams[0]!.end();
    expect(await hear()).toMatchObject({ of: 'data', isLast: true });
    send(open(3), controlFrame(frameTypes.reset, 0, uint32(3), uint32(5)), open(5));
    expect([await hear(), await hear()]).toMatchObject([
      { of: 'reply', stream: 3 },
      { of: 'reply', stream: 5 },
    ]);
    expect(streams[1]!.isReset).toBe(true);
  });

  it('answers pings of the client, and not the answers to its own', async () => {
    const { send, hear } = start();
    send(pingFrame(2), pingFrame(7));
    expect(await hear()).toEqual({ of: 'ping', id: 7 });
  });

  it.each([
    ['an even stream', (open: (id: number) => Buffer) => open(2)],
    ['a stream that is open', (open: (id: number) => Buffer) => Buffer.concat([open(1), open(1)])],
  ])('ends, with the reason, at %s', async (_, frames) => {
    const { send, open, hear, ended } = start();
    send(frames(open));
    const heard: (string | undefined)[] = [];
    for (let frame = await hear(); frame; frame = await hear()) heard.push(frame.of);
    await ended;
    expect(heard.at(-1)).toBe('goAway');
  });

  it('reads no more than a bound while a stream is not read, and goes on when it is', async () => {
    const { send, open, hear, streams, up } = start();
    send(open(1));
    await hear();
    const piece = dataFrame(1, Buffer.alloc(16 * 1024));
    let sent = 0;
    while (up.writableLength < 1024 * 1024) {
      up.write(piece);
      sent += 16 * 1024;
      await new Promise(setImmediate);
    }
    expect(sent - up.writableLength).toBeLessThan(512 * 1024);
    let taken = 0;
    for await (const bytes of streams[0]!.input()) {
      taken += bytes.length;
      if (taken === sent) break;
    }
    expect(taken).toBe(sent);
  });

  it('drops what comes for a stream that the server has ended', async () => {
    const { send, open, hear, streams } = start();
    send(open(1));
    await hear();
    await streams[0]!.end();
    await hear();
    for (let index = 0; index < 64; index++) send(dataFrame(1, Buffer.alloc(16 * 1024)));
    send(pingFrame(9));
    expect(await hear()).toEqual({ of: 'ping', id: 9 });
  });

  it('probes a client from which it does not read', async () => {
    const { send, open, hear } = start();
    send(open(1));
    await hear();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    for (let index = 0; index < 16; index++) send(dataFrame(1, Buffer.alloc(16 * 1024)));
    const heard = hear();
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    vi.advanceTimersByTime(5_000);
    expect(await heard).toEqual({ of: 'ping', id: 2 });
  });

  it('cuts its streams when the client is gone, and writes nothing more', async () => {
    const { send, open, hear, streams, way, ended } = start();
    send(open(1));
    await hear();
    const text = textOf(streams[0]!);
    way.destroy();
    await ended;
    expect([streams[0]!.isReset, await text]).toEqual([true, '']);
    await streams[0]!.write(Buffer.from('late'));
    await streams[0]!.end();
  });

  it('is closed by the server when the client does not close it', async () => {
    const { connection, ended, way } = start();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    connection.closeWithin(30_000);
    vi.advanceTimersByTime(29_999);
    expect(way.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await ended;
    expect(way.destroyed).toBe(true);
  });
});
