import { connect as connectHttp2 } from 'node:http2';
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// What no client library sends; found by the fuzz test.
let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

/** The gRPC status of one call with these bytes as its message. */
function statusOf(path: string, message: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
  const { address, ca, cert, key } = server.admin;
  const session = connectHttp2(`https://${address}`, {
    ca,
    cert,
    key,
    servername: 'localhost',
    checkServerIdentity: () => undefined,
  });
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([head, message]));
  return new Promise((resolve, reject) => {
    const read = (each: Readonly<Record<string, unknown>>): void => {
      if (each['grpc-status'] !== undefined) resolve(Number(each['grpc-status']));
    };
    stream.on('response', read).on('trailers', read).on('error', reject);
    stream.on('close', () => session.close()).resume();
  });
}

const truncated = Buffer.from([0x7a, 0x64, 0x01]);

test.each([
  '/berth.core.v1.Pods/Get',
  '/berth.meta.v1.Objects/Create',
  '/grpc.health.v1.Health/Check',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
])('bytes that are no message are the fault of the client: %s', async (path) => {
  expect(await statusOf(path, truncated)).toBe(codes.INVALID_ARGUMENT);
});

test.each([
  ['an integer that a number does not hold', '0a0c0a0a38ffffffffffffffff7f'],
  ['a text that is not UTF-8', '0a050a030a01ff'],
  ['an object that is a number', '0801'],
])('%s is refused at the door, not changed', async (_, hex) => {
  expect(await statusOf('/berth.core.v1.ConfigMaps/Create', Buffer.from(hex, 'hex'))).toBe(codes.INVALID_ARGUMENT);
});

test('a deadline that is none is the fault of the client', async () => {
  expect(await statusOf('/berth.core.v1.Pods/Get', Buffer.alloc(0), { 'grpc-timeout': 'soon' })).toBe(codes.INVALID_ARGUMENT);
});

test('a list with a limit below nothing is refused, and lists go on', async () => {
  await server.client.configMaps.create({ metadata: { namespace: 'default', name: 'a' } });
  const limits = [-1, -(2 ** 53) + 1].map((limit) => server.client.configMaps.list({ namespace: 'default', limit }));
  for (const refused of await Promise.allSettled(limits)) expect(refused).toMatchObject({ reason: { code: 'INVALID_ARGUMENT' } });
  expect((await server.client.configMaps.list({ namespace: 'default' })).items).toHaveLength(1);
});

const metadata = { namespace: 'default', name: 'x' };
const unwritable = { resources: { requests: { cpu: { string: 'NaN' }, memory: { string: '1e-400' } } } };

test.each<[string, string, object, number]>([
  [
    '/berth.core.v1.Pods/Create',
    'berth.core.v1.PodWriteRequest',
    { object: { metadata, spec: { containers: [{ name: 'main', image: 'x', ...unwritable }] } } },
    codes.INVALID_ARGUMENT,
  ],
  // As JSON.parse makes it: a key of its own.
  [
    '/berth.core.v1.Secrets/Create',
    'berth.core.v1.SecretWriteRequest',
    { object: { metadata, stringData: JSON.parse('{"__proto__":"x"}') } },
    codes.OK,
  ],
  [
    '/berth.meta.v1.Objects/History',
    'berth.meta.v1.ObjectHistoryRequest',
    { kind: { kind: 'ConfigMap' }, namespace: 'default', name: 'a b' },
    codes.NOT_FOUND,
  ],
  [
    '/berth.meta.v1.Objects/FindVersion',
    'berth.meta.v1.FindVersionRequest',
    { ageMilliseconds: Number.MAX_SAFE_INTEGER },
    codes.OUT_OF_RANGE,
  ],
  [
    '/berth.meta.v1.Objects/FindVersion',
    'berth.meta.v1.FindVersionRequest',
    { ageMilliseconds: -Number.MAX_SAFE_INTEGER },
    codes.INVALID_ARGUMENT,
  ],
])('values that are out of the way are judged like any other: %s', async (path, request, message, expected) => {
  expect(await statusOf(path, encodeMessage(request, message))).toBe(expected);
});
