import { Client, credentials, Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { kinds } from '../../api/kinds/index.ts';
import { describeFailure } from '../../cli/program/failure.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let raw: Client;
const lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const faulty = kinds.map((kind) =>
    kind.kind !== 'Secret'
      ? kind
      : {
          ...kind,
          defaults: () => {
            throw new TypeError('a defect');
          },
        },
  );
  server = await startServer({ log, kinds: faulty });
  const { ca, cert, key } = server.admin;
  raw = new Client(server.info.address, credentials.createSsl(Buffer.from(ca), Buffer.from(key!), Buffer.from(cert!)));
});
afterAll(async () => {
  raw.close();
  await server.stop();
  await server.remove();
});

interface Answer {
  readonly error: ServiceError | null;
  readonly trailers: Metadata;
}

const pass = (bytes: Buffer): Buffer => bytes;

/** Gets a namespace, with this id in the call's metadata. */
function get(name: string, requestId?: string): Promise<Answer> {
  const metadata = new Metadata();
  if (requestId !== undefined) metadata.set('x-request-id', requestId);
  return new Promise((resolve) => {
    let error: ServiceError | null = null;
    const request = encodeMessage('berth.meta.v1.GetRequest', { name });
    const call = raw.makeUnaryRequest('/berth.core.v1.Namespaces/Get', pass, pass, request, metadata, (failed) => {
      error = failed;
    });
    call.on('status', (status: StatusObject) => setImmediate(() => resolve({ error, trailers: status.metadata })));
  });
}

const logged = (requestId: unknown) => lines.filter((line) => line.requestId === requestId);

test('a refused call has its own id in the trailer, in the error and in the line of the log', async () => {
  const { error, trailers } = await get('missing', 'deploy-42/attempt:1');
  expect(error?.details).toContain('namespace "missing" not found');
  expect(trailers.get('x-request-id')).toEqual(['deploy-42/attempt:1']);
  expect(logged('deploy-42/attempt:1')).toMatchObject([
    { msg: 'a call was refused', user: 'admin', method: '/berth.core.v1.Namespaces/Get', code: 'NOT_FOUND' },
  ]);
  const refused = server.client.namespaces.get({ name: 'missing' }, { requestId: 'from-the-client' });
  await expect(refused).rejects.toMatchObject({ code: 'NOT_FOUND', requestId: 'from-the-client' });
});

test('a refused call that brings no id gets one, the same in the error and in the log', async () => {
  const { trailers } = await get('missing');
  const [requestId] = trailers.get('x-request-id');
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(logged(requestId).length).toBe(1);
});

test('a call that goes well answers the id that it brought, and no other', async () => {
  expect((await get('default', 'mine')).trailers.get('x-request-id')).toEqual(['mine']);
  expect((await get('default')).trailers.get('x-request-id')).toEqual([]);
});

test.each(['two words', 'x'.repeat(65), '"quoted"', '-dash', ''])('the id "%s" is replaced', async (requestId) => {
  const [answered] = (await get('missing', requestId)).trailers.get('x-request-id');
  expect(answered).toMatch(/^[0-9a-f-]{36}$/);
});

test('a call without credentials has a request id too', async () => {
  const nobody = connect({ address: server.info.address, ca: server.info.ca });
  const refused = nobody.namespaces.get({ name: 'default' }, { requestId: 'who-am-i' });
  await expect(refused).rejects.toMatchObject({ code: 'UNAUTHENTICATED', requestId: 'who-am-i' });
  expect(logged('who-am-i')).toMatchObject([{ code: 'UNAUTHENTICATED' }]);
  nobody.close();
});

test('a fault of the server is logged with its cause under the id that the command line shows', async () => {
  const secret = { metadata: { namespace: 'default', name: 's' } };
  const error: unknown = await server.client.secrets.create(secret, {}, { requestId: 'fault-1' }).catch((failed) => failed);
  expect(error).toMatchObject({ code: 'INTERNAL', requestId: 'fault-1' });
  expect(describeFailure(error)).toContain('fault-1');
  expect(logged('fault-1')).toMatchObject([{ level: 50, err: { message: 'a defect' } }]);
});

test('a stream answers its id and is refused with it', async () => {
  const watch = async () => {
    for await (const _ of server.client.pods.watch({ resourceVersion: 'no number' }, { requestId: 'watch-7' }));
  };
  await expect(watch()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', requestId: 'watch-7' });
  expect(logged('watch-7').length).toBe(1);
});
