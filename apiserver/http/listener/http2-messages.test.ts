import { once } from 'node:events';
import { type ClientHttp2Session, connect, createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BodilessRequest, Http2Answer, Http2Request } from './http2-messages.ts';

type Handler = (request: BodilessRequest, answer: Http2Answer) => void;

let handler: Handler;
let server: Http2Server;
let client: ClientHttp2Session;

beforeEach(async () => {
  const options = { Http2ServerRequest: Http2Request, Http2ServerResponse: Http2Answer };
  server = createServer(options as unknown as Parameters<typeof createServer>[0]);
  server.on('request', (request, answer) => handler(request as unknown as BodilessRequest, answer as unknown as Http2Answer));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterEach(async () => {
  client.destroy();
  server.close();
  await once(server, 'close');
});

/** What the client gets of an answer; of an answer without a body, "". */
async function answered(headers: Record<string, string> = {}, body?: string) {
  const stream = client.request(
    { ':path': '/a?b', ...headers },
    { endStream: body === undefined && headers.expect === undefined },
  );
  if (headers.expect !== undefined) await once(stream, 'continue');
  if (body !== undefined) stream.end(body);
  const got: Buffer[] = [];
  stream.on('data', (bytes: Buffer) => got.push(bytes));
  const [sent] = (await once(stream, 'response')) as [Record<string, unknown>];
  await once(stream, 'close');
  return { code: sent[':status'], type: sent['x-type'], text: Buffer.concat(got).toString() };
}

/** A handler whose events can be awaited: what an answer was when it closed. */
function closing(handle: Handler): Promise<{ ended: boolean; destroyed: boolean; times: number }> {
  return new Promise((resolve) => {
    handler = (request, answer) => {
      let times = 0;
      answer.on('close', () => {
        times++;
        setImmediate(() => resolve({ ended: answer.writableEnded, destroyed: answer.destroyed, times }));
      });
      handle(request, answer);
    };
  });
}

describe('a request of HTTP/2', () => {
  it('without a body has what a request of HTTP/1.1 has of its head', async () => {
    const seen: unknown[] = [];
    handler = (request, answer) => {
      seen.push(request instanceof BodilessRequest, request.method, request.url, request.headers['x-own']);
      seen.push(request.complete, request.rawHeaders.includes('x-own'), request.socket.remoteAddress);
      answer.end();
    };
    await answered({ 'x-own': '1' });
    expect(seen).toEqual([true, 'GET', '/a?b', '1', true, true, '127.0.0.1']);
  });

  it('of a connection that is gone has an address and a socket of nothing else', async () => {
    const requests: BodilessRequest[] = [];
    handler = (request, answer) => {
      requests.push(request);
      answer.end();
    };
    await answered();
    await answered();
    const closed = Promise.all(requests.map(({ stream }) => stream.session && once(stream.session, 'close')));
    client.destroy();
    await closed;
    const [first, second] = requests.map(({ socket }) => socket);
    expect([first!.remoteAddress, second!.remoteAddress, first === second]).toEqual([undefined, undefined, false]);
  });

  it('with a body is read as ever, after a 100 where its client waits for one', async () => {
    server.on('checkContinue', (request, answer) => {
      (answer as unknown as Http2Answer).writeContinue();
      server.emit('request', request, answer);
    });
    handler = (request, answer) => {
      expect(request).not.toBeInstanceOf(BodilessRequest);
      void pipeline(request as unknown as Readable, answer as unknown as NodeJS.WritableStream);
    };
    for (const headers of [{}, { expect: '100-continue' }] as Record<string, string>[])
      expect(await answered({ ':method': 'POST', ...headers }, 'abc')).toMatchObject({ code: 200, text: 'abc' });
  });
});

describe('an answer of HTTP/2', () => {
  it('is sent with its code and headers, those of its own and those of its head', async () => {
    handler = (_, answer) => {
      answer.setHeader('x-type', 'own');
      answer.statusCode = 201;
      answer.write('a');
      answer.end('b');
    };
    expect(await answered()).toEqual({ code: 201, type: 'own', text: 'ab' });
    handler = (_, answer) => answer.writeHead(404, { 'x-type': 'head' }).end();
    expect(await answered()).toEqual({ code: 404, type: 'head', text: '' });
  });

  it('to a HEAD has no body, and closes once', async () => {
    const closed = closing((_, answer) => answer.writeHead(200, { 'content-length': 3 }).end('abc'));
    expect(await answered({ ':method': 'HEAD' })).toMatchObject({ code: 200, text: '' });
    expect(await closed).toEqual({ ended: true, destroyed: true, times: 1 });
  });

  it.each(['GET', 'HEAD'])('that a client resets before it is given closes, and takes nothing more (%s)', async (method) => {
    let kept: Http2Answer | undefined;
    const stream = client.request({ ':method': method });
    stream.on('error', () => {});
    const closed = closing((_, answer) => {
      kept = answer;
      stream.close(8);
    });
    expect(await closed).toEqual({ ended: false, destroyed: true, times: 1 });
    const failed = new Promise((resolve) => kept!.writeHead(200).write('late', resolve));
    expect(await failed).toBeInstanceOf(Error);
    expect(kept!.end('late').writableEnded).toBe(true);
    expect(kept!.headersSent).toBe(false);
  });

  it('waits for its client to read what was written', async () => {
    const pages = Array.from({ length: 40 }, (_, index) => Buffer.alloc(64 * 1024, index));
    handler = (_, answer) => void pipeline(Readable.from(pages), answer as unknown as NodeJS.WritableStream);
    const { text } = await answered();
    expect(text.length).toBe(40 * 64 * 1024);
  });

  it('refuses what is written behind its end, and stays whole', async () => {
    let failed: Promise<unknown> | undefined;
    handler = (_, answer) => {
      answer.end('all');
      failed = new Promise((resolve) => answer.write('more', resolve));
    };
    expect(await answered()).toMatchObject({ code: 200, text: 'all' });
    expect(await failed).toMatchObject({ code: 'ERR_STREAM_WRITE_AFTER_END' });
  });

  it('is cut off within the events of another stream', async () => {
    const answers: Http2Answer[] = [];
    handler = (_, answer) => {
      answer.on('close', () => {
        for (const each of answers) each.destroy();
      });
      answers.push(answer);
      answer.flushHeaders();
    };
    const streams = Array.from({ length: 4 }, () => client.request({ ':path': '/' }).on('error', () => {}));
    await Promise.all(streams.map((each) => once(each, 'response')));
    streams[0]?.close(8);
    await Promise.all(streams.map((each) => each.closed || new Promise((resolve) => each.once('close', resolve))));
    expect(streams.map((each) => each.rstCode)).toEqual([8, 2, 2, 2]);
    expect(answers.map((each) => each.destroyed)).toEqual([true, true, true, true]);
  });

  it('that was cut off takes nothing more', async () => {
    const failures: unknown[] = [];
    handler = (_, answer) => {
      answer.flushHeaders();
      answer.destroy();
      expect([answer.destroyed, answer.writable]).toEqual([true, false]);
      answer.write('x', (error) => failures.push(error?.message));
      answer.end('y');
    };
    const stream = client.request({ ':path': '/' }).on('error', () => {});
    await new Promise((resolve) => stream.once('close', resolve));
    expect([stream.rstCode, failures]).toEqual([2, ['the answer was cut off']]);
  });
});
