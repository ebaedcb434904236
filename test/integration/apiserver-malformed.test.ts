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

type Answer = { readonly code: number; readonly message: string };

/** The gRPC status of one call with these bytes as its message. */
async function statusOf(path: string, message: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
  return (await answerTo(path, message, headers)).code;
}

/** The same with the words; `certificate` false: anonymously. */
function answerTo(path: string, message: Uint8Array, headers: Record<string, string> = {}, certificate = true): Promise<Answer> {
  const { address, ca, ...own } = server.admin;
  const { cert, key } = certificate ? own : { cert: undefined, key: undefined };
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
      if (each['grpc-status'] === undefined) return;
      resolve({ code: Number(each['grpc-status']), message: decodeURIComponent(String(each['grpc-message'] ?? '')) });
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
])('%s is rejected, not changed', async (_, hex) => {
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
])('unusual values are validated as well: %s', async (path, request, message, expected) => {
  expect(await statusOf(path, encodeMessage(request, message))).toBe(expected);
});

const getOf = (place: object) => encodeMessage('berth.meta.v1.GetRequest', place);

test.each([
  ['steps up', 'default', '../kube-system/x'],
  ['is a path', 'default', 'x/y'],
  ['ends with a stroke', 'default', 'x/'],
  ['is the folder itself', 'default', '.'],
  ['is the folder above', 'default', '..'],
  ['holds a NUL', 'default', 'x\0y'],
  ['is too long', 'default', 'x'.repeat(254)],
  ['is as long as a message may be', 'default', 'x'.repeat(100_000)],
  ['has a namespace that steps up', '../secrets/default', 'x'],
  ['has a namespace with a stroke', 'default/x', 'y'],
  ['has a namespace with a NUL', 'default\0', 'y'],
])('a name that %s is that of nothing', async (_, namespace, name) => {
  const nothing = [codes.INVALID_ARGUMENT, codes.NOT_FOUND];
  expect(nothing).toContain(await statusOf('/berth.core.v1.Secrets/Get', getOf({ namespace, name })));
  const write = encodeMessage('berth.core.v1.ConfigMapWriteRequest', { object: { metadata: { namespace, name } } });
  expect(nothing).toContain(await statusOf('/berth.core.v1.ConfigMaps/Create', write));
});

test('an object goes where its own metadata say, whatever the request around it says, and is judged by that', async () => {
  const message = encodeMessage('berth.meta.v1.ObjectWriteRequest', {
    ...{ kind: { kind: 'ConfigMap' }, namespace: 'default', format: 'json' },
    object: Buffer.from(JSON.stringify({ metadata: { namespace: 'kube-system', name: 'moved' } })),
  });
  await server.client.roleBindings.create({
    metadata: { namespace: 'default', name: 'anna' },
    roleRef: { kind: 'ClusterRole', name: 'edit' },
    subjects: [{ kind: 'User', name: 'anna' }],
  });
  expect(await answerTo('/berth.meta.v1.Objects/Create', message, { 'impersonate-user': 'anna' })).toEqual({
    code: codes.PERMISSION_DENIED,
    message: expect.stringContaining('user "anna" cannot create configmaps in the namespace "kube-system"'),
  });
});

test.each([
  '/berth.core.v1.Pods/get',
  '/berth.core.v1.pods/Get',
  '//berth.core.v1.Pods/Get',
  '/berth.core.v1.Pods/Get/',
  '/berth.core.v1.Nodes/../Pods/Get',
  '/berth.core.v1.Pods/Get?x=y',
  '/berth.core.v1.Pods%2FGet',
  '/berth.core.v1.Pods/__proto__',
  '/',
])('the method %s does not exist, for any caller', async (path) => {
  expect(await statusOf(path, getOf({ namespace: 'default', name: 'x' }))).toBe(codes.UNIMPLEMENTED);
  expect((await answerTo(path, Buffer.alloc(0), {}, false)).code).toBe(codes.UNIMPLEMENTED);
});

const whoAmI = '/berth.authentication.v1.SelfSubjectReviews/Create';
const unauthenticated = { code: codes.UNAUTHENTICATED, message: expect.stringContaining('the bearer token is not known') };

test.each<[string, Record<string, string>]>([
  ['another scheme', { authorization: 'Basic YWRtaW46YWRtaW4=' }],
  ['no token', { authorization: 'Bearer' }],
  ['two tokens', { authorization: 'Bearer a, Bearer b' }],
  ['a token and more', { authorization: 'Bearer a b' }],
  ['nothing', { authorization: '' }],
])('a certificate does not help who shows %s as well', async (_, headers) => {
  expect(await answerTo(whoAmI, Buffer.alloc(0), headers)).toEqual(unauthenticated);
});

test.each<[string, Record<string, string>]>([
  ['a status of its own', { 'grpc-status': '0', 'grpc-message': 'let in' }],
  [
    'a name that only a proxy would say',
    { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters', 'x-forwarded-for': '127.0.0.1' },
  ],
  ['another authority', { ':authority': 'system:masters' }],
  [
    'a certificate as a header',
    { 'x-forwarded-client-cert': 'Subject="CN=admin,O=system:masters"', 'ssl-client-verify': 'SUCCESS' },
  ],
  ['a user to act as', { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' }],
  ['another encoding', { 'grpc-internal-encoding-request': 'identity', 'grpc-accept-encoding': 'x' }],
])('a caller without credentials does not become a user by sending %s', async (_, headers) => {
  expect((await answerTo(whoAmI, Buffer.alloc(0), headers, false)).code).toBe(codes.UNAUTHENTICATED);
});

test.each<[string, Record<string, string>, string]>([
  ['two users', { 'impersonate-user': 'anna, bert' }, 'names more than one user'],
  ['groups without a user', { 'impersonate-group': 'dev' }, 'needs a user as well'],
  ['what is not encoded', { 'impersonate-user': '%zz' }, 'must be percent-encoded'],
  ['two uids', { 'impersonate-user': 'anna', 'impersonate-uid': 'x,y' }, 'names more than one uid'],
  [
    'what would be passed over',
    { 'impersonate-user': 'anna', 'impersonate-scopes': 'view' },
    '"impersonate-scopes" cannot be impersonated',
  ],
  ['a text of no key', { 'impersonate-user': 'anna', 'impersonate-extra-': 'view' }, 'names no key'],
  [
    'too many texts',
    { 'impersonate-user': 'anna', 'impersonate-extra-scopes': Array(65).fill('s').join() },
    '65 texts are more than the 64',
  ],
  [
    'too many groups',
    { 'impersonate-user': 'anna', 'impersonate-group': Array(65).fill('g').join() },
    '65 groups are more than the 64',
  ],
])('a call that impersonates %s is refused', async (_, headers, why) => {
  expect(await answerTo(whoAmI, Buffer.alloc(0), headers)).toEqual({
    code: codes.INVALID_ARGUMENT,
    message: expect.stringContaining(why),
  });
});
