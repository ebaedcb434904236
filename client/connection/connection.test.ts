import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { type ApiError, conflict, exhausted, invalid, isCancelled, isUnavailable, notFound } from '../../api/errors/index.ts';
import { type Script, type ScriptedServer, startScriptedServer } from '../../test/fakes/scripted-server.ts';
import { createTestPki } from '../../test/fakes/test-pki.ts';
import type { Client, ConnectOptions } from '../client.ts';
import { connect } from '../connect.ts';
import { createConnection } from './connection.ts';
import { toStatus } from './status-details.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function setup(script: Script, options: Partial<ConnectOptions> = {}): Promise<{ server: ScriptedServer; client: Client }> {
  const server = await startScriptedServer(script);
  const client = connect({ address: server.address, ca: server.pki.ca, ...options });
  cleanups.push(server.stop, client.close);
  return { server, client };
}

/** What the server's pipeline makes of an error. */
function reply(error: ApiError): object {
  const status = toStatus(error);
  const metadata = new grpc.Metadata();
  metadata.set('grpc-status-details-bin', encodeMessage('google.rpc.Status', status));
  return { code: status.code, details: status.message, metadata };
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  return promise.then(
    () => expect.unreachable('the call should have failed'),
    (error) => error as ApiError,
  );
}

async function drain<T>(stream: AsyncIterable<T>, take: (item: T) => void = () => {}): Promise<void> {
  for await (const item of stream) take(item);
}

const key = { namespace: 'default', name: 'web' };

describe('connection', () => {
  it('calls the method of the kind and gives the object as it was sent', async () => {
    const { client } = await setup({
      unary: { 'berth.core.v1.Pods/Get': ({ namespace, name }) => ({ metadata: { namespace, name, labels: { app: 'x' } } }) },
    });
    expect(await client.pods.get(key)).toEqual({ metadata: { namespace: 'default', name: 'web', labels: { app: 'x' } } });
  });

  it.each([
    ['what is not found', notFound({ kind: 'Pod', ...key })],
    ['a conflict', conflict({ kind: 'Pod', ...key }, 'changed meanwhile')],
    [
      'every violation',
      invalid({ kind: 'Pod', ...key }, [{ field: 'spec.containers', description: 'is required', reason: 'FieldValueRequired' }]),
    ],
    ['how long to wait', exhausted('too many lists', 1_500)],
  ])('gives the error that the server made: %s', async (_title, error) => {
    const { client } = await setup({ unary: { 'berth.core.v1.Pods/Get': () => Promise.reject(reply(error)) } });
    const { code, reason, message, violations, retryAfterMs, subject } = await failure(
      client.pods.get(key, { timeoutMs: 1_400 }),
    );
    expect({ code, reason, message, violations, retryAfterMs, subject }).toEqual({
      code: error.code,
      reason: error.reason,
      message: error.message,
      violations: error.violations,
      retryAfterMs: error.retryAfterMs,
      subject: error.subject,
    });
  });

  it('calls again by itself when the server asks for a little patience, and gives up with what the server said', async () => {
    let calls = 0;
    const get = () => (++calls < 3 ? Promise.reject(reply(exhausted('busy', 10))) : { metadata: { name: 'web' } });
    const { client } = await setup({ unary: { 'berth.core.v1.Pods/Get': get } });
    expect(await client.pods.get(key)).toEqual({ metadata: { name: 'web' } });
    expect(calls).toBe(3);
    calls = -1_000;
    expect(await failure(client.pods.get(key))).toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: 'busy' });
    expect(calls).toBe(-992);
  });

  it('names the refusal when the time ends while a refused call is made again', async () => {
    let calls = 0;
    const get = () => (++calls === 1 ? Promise.reject(reply(exhausted('busy', 10))) : new Promise<object>(() => {}));
    const { client } = await setup({ unary: { 'berth.core.v1.Pods/Get': get } });
    expect(await failure(client.pods.get(key, { timeoutMs: 3_000 }))).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: 'busy',
    });
    expect(calls).toBe(2);
  });

  it('gives code and message of an error without details', async () => {
    const { client } = await setup({
      unary: { 'berth.core.v1.Pods/Get': () => Promise.reject({ code: grpc.status.PERMISSION_DENIED, details: 'not you' }) },
    });
    expect(await failure(client.pods.get(key))).toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'Forbidden',
      message: 'not you',
    });
  });

  it('says which server cannot be reached, and why, when none listens', async () => {
    const pki = await createTestPki();
    const client = connect({ address: '127.0.0.1:1', ca: pki.ca });
    cleanups.push(client.close);
    const error = await failure(client.pods.get(key));
    expect(isUnavailable(error)).toBe(true);
    expect(error.message).toBe(
      'cannot reach the API server at 127.0.0.1:1: connection refused; is it running? "berth up" starts it',
    );
  });

  it('says that the server has a certificate of another CA', async () => {
    const other = await createTestPki();
    const { client } = await setup({ unary: {} }, { ca: other.ca });
    expect((await failure(client.pods.get(key))).message).toMatch(
      /: its certificate was signed by another CA than the one given$/,
    );
  });

  it('does not talk to a server whose certificate was made for other addresses', async () => {
    const server = await startScriptedServer({}, { addresses: ['localhost', '192.0.2.1'] });
    const client = connect({ address: server.address, ca: server.pki.ca });
    cleanups.push(server.stop, client.close);
    expect((await failure(client.pods.get(key))).message).toMatch(/: its certificate was made for other addresses$/);
  });

  it('refuses certificates that it cannot read, and half of a pair', async () => {
    const { ca } = await createTestPki();
    expect(() => connect({ address: 'a:1', ca, cert: 'no', key: 'no' })).toThrow(
      /^connect to a:1: the certificates cannot be read: /,
    );
    expect(() => connect({ address: 'a:1', ca, cert: 'no' })).toThrow(/needs its key/);
  });

  it('sends the bearer token and the name of the program', async () => {
    const seen: unknown[] = [];
    const script: Script = {
      unary: {
        'berth.core.v1.Nodes/Get': (_request, call) => {
          seen.push(call.metadata.get('authorization')[0], String(call.metadata.get('user-agent')[0]).split(' ')[0]);
          return {};
        },
      },
    };
    const { client } = await setup(script, { token: 'secret', userAgent: 'my-controller/1.2' });
    await client.nodes.get({ name: 'n1' });
    expect(seen).toEqual(['Bearer secret', 'my-controller/1.2']);
  });

  it('hands the warnings of an answer to onWarning', async () => {
    const warnings: string[] = [];
    const script: Script = {
      unary: {
        'berth.core.v1.Pods/Create': ({ object }, call) => {
          const metadata = new grpc.Metadata();
          metadata.add('berth-warning', 'spec.hostUsers: not acted on');
          metadata.add('berth-warning', 'spec.os: 100%25 ignored%2C sorry');
          call.sendMetadata(metadata);
          return object as object;
        },
      },
    };
    const { client } = await setup(script, { onWarning: (text) => void warnings.push(text) });
    await client.pods.create({ metadata: key });
    expect(warnings).toEqual(['spec.hostUsers: not acted on', 'spec.os: 100% ignored, sorry']);
  });

  it('ends a call that takes too long, saying which one and how long', async () => {
    const { client } = await setup({ unary: { 'berth.core.v1.Pods/Get': () => new Promise(() => {}) } });
    const error = await failure(client.pods.get(key, { timeoutMs: 50 }));
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', reason: 'Timeout' });
    expect(error.message).toMatch(/did not answer \/berth\.core\.v1\.Pods\/Get within 50 ms$/);
  });

  it('ends calls, streams and sessions that are not answered within the time that holds for all of them', async () => {
    const script: Script = {
      unary: { 'berth.core.v1.Pods/Get': () => new Promise(() => {}) },
      streaming: { 'berth.core.v1.Pods/Logs': (_, call) => void call.write({ data: Buffer.from('one\n') }) },
      duplex: { 'berth.core.v1.Pods/Exec': (call) => call.onMessage(() => {}) },
    };
    const { client } = await setup(script, { requestTimeoutMs: 1_000 });
    expect((await failure(client.pods.get(key))).message).toMatch(/did not answer \/berth\.core\.v1\.Pods\/Get within 1000 ms$/);
    expect((await failure(client.pods.get(key, { timeoutMs: 20 }))).message).toMatch(/within 20 ms$/);
    const lines: string[] = [];
    const log = await failure(drain(client.pods.logs(key), (data) => lines.push(Buffer.from(data).toString())));
    expect(log.message).toMatch(/^\/berth\.core\.v1\.Pods\/Logs of the API server at .* did not end within 1000 ms$/);
    expect(lines).toEqual(['one\n']);
    const exec = client.pods.exec(key, { command: ['true'] });
    expect(await failure(drain(exec.output()))).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringMatching(/did not answer \/berth\.core\.v1\.Pods\/Exec within 1000 ms$/),
    });
  });

  it('lets a session last as long as it likes once the server has answered', async () => {
    const script: Script = {
      duplex: {
        'berth.core.v1.Pods/Exec': (call) =>
          call.onMessage(() => {
            call.raw.sendMetadata(new grpc.Metadata());
            setTimeout(() => {
              call.write({ exit: { code: 3 } });
              call.end();
            }, 1_300);
          }),
      },
    };
    const { client } = await setup(script, { requestTimeoutMs: 1_000 });
    const exec = client.pods.exec(key, { command: ['sleep', '1'] });
    await drain(exec.output());
    expect(await exec.exitCode()).toBe(3);
  });

  it.each([
    [undefined, [undefined, 30_000, 5_000]],
    [0, [undefined, undefined, 5_000]],
    [1_000, [1_000, 1_000, 1_000]],
    [60_000, [60_000, 60_000, 5_000]],
  ])('with %j ms for all calls gives each the shortest of the times for it', async (requestTimeoutMs, limits) => {
    const { ca } = await createTestPki();
    const connection = createConnection({ address: '127.0.0.1:1', ca, requestTimeoutMs });
    expect([
      connection.timeLimit(undefined),
      connection.timeLimit(undefined, 30_000),
      connection.timeLimit(5_000, 30_000),
    ]).toEqual(limits);
  });

  it('ends a call with CANCELLED when its signal aborts, also before it starts', async () => {
    const stop = new AbortController();
    const script: Script = {
      unary: {
        'berth.core.v1.Pods/Get': () => {
          stop.abort();
          return new Promise(() => {});
        },
      },
    };
    const { client } = await setup(script);
    expect(isCancelled(await failure(client.pods.get(key, { signal: stop.signal })))).toBe(true);
    expect(isCancelled(await failure(client.pods.get(key, { signal: stop.signal })))).toBe(true);
  });

  it('ends running calls with CANCELLED when it is closed, and refuses later ones', async () => {
    const started = manual();
    const script: Script = {
      unary: {
        'berth.core.v1.Pods/Get': () => {
          started.resolve();
          return new Promise(() => {});
        },
      },
    };
    const { client } = await setup(script);
    const running = failure(client.pods.get(key));
    await started.promise;
    client.close();
    expect(isCancelled(await running)).toBe(true);
    expect(isCancelled(await failure(client.pods.get(key)))).toBe(true);
  });

  it('reads a watch batch by batch, and throws CANCELLED when it is aborted', async () => {
    const cancelled = manual();
    const script: Script = {
      streaming: {
        'berth.core.v1.Pods/Watch': (request, call) => {
          expect(request).toEqual({ namespace: 'default', options: { resourceVersion: '7', allowWatchBookmarks: true } });
          call.onCancelled(cancelled.resolve);
          call.write({ events: [{ type: 'ADDED', object: { metadata: { name: 'a' } } }] });
          call.write({ events: [{ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } }] });
        },
      },
    };
    const { client } = await setup(script);
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      const scope = { namespace: 'default', resourceVersion: '7', allowWatchBookmarks: true };
      for await (const events of client.pods.watch(scope, { signal: stop.signal })) {
        seen.push(...events.map((event) => event.type));
        if (seen.length === 2) stop.abort();
      }
    })();
    expect(isCancelled(await failure(watching))).toBe(true);
    expect(seen).toEqual(['ADDED', 'BOOKMARK']);
    await cancelled.promise;
  });

  it('returns from a watch when the server ends it, and ends the call when the reader leaves', async () => {
    const cancelled = manual();
    let calls = 0;
    const script: Script = {
      streaming: {
        'berth.core.v1.Nodes/Watch': (_request, call) => {
          call.onCancelled(cancelled.resolve);
          call.write({ events: [{ type: 'ADDED', object: {} }] });
          if (++calls === 1) call.end();
        },
      },
    };
    const { client } = await setup(script);
    const { signal } = new AbortController();
    let batches = 0;
    for await (const _events of client.nodes.watch({}, { signal })) batches++;
    expect(batches).toBe(1);
    for await (const _events of client.nodes.watch({}, { signal })) break;
    await cancelled.promise;
  });

  it('does not let a server run ahead of a reader that rests, and other calls do not notice', async () => {
    const piece = Buffer.alloc(64 * 1024);
    let written = 0;
    const script: Script = {
      unary: { 'berth.core.v1.Pods/Get': () => ({ metadata: key }) },
      streaming: {
        'berth.core.v1.Pods/Logs': (_request, call) => {
          const pump = () => {
            while (written < 400) {
              written++;
              if (!call.write({ data: piece })) return void call.raw.once('drain', pump);
            }
            call.end();
          };
          pump();
        },
      },
    };
    const { client } = await setup(script);
    let bytes = 0;
    for await (const data of client.pods.logs(key)) {
      if (bytes === 0) {
        for (let call = 0; call < 50; call++) await client.pods.get(key);
        expect(written).toBeLessThan(200);
      }
      bytes += data.length;
    }
    expect(bytes).toBe(400 * piece.length);
  });

  it('works again by itself after the server was away', async () => {
    const script: Script = { unary: { 'berth.core.v1.Pods/Get': () => ({ metadata: key }) } };
    const { client, server } = await setup(script);
    await client.pods.get(key);
    server.stop();
    expect(isUnavailable(await failure(client.pods.get(key)))).toBe(true);
    const again = await startScriptedServer(script, { pki: server.pki, port: Number(server.address.split(':')[1]) });
    cleanups.push(again.stop);
    await expect.poll(() => client.pods.get(key).catch(() => undefined), { timeout: 10_000 }).toEqual({ metadata: key });
  });
});

function manual(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((yes) => {
    resolve = yes;
  });
  return { promise, resolve };
}
