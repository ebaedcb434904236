import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeMessage } from '../../api/codec/message.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// The forms of bodies over Kubernetes' HTTP API: protobuf of lists, watches and errors.
let server: RunningServer;

const protobufType = 'application/vnd.kubernetes.protobuf';
const metadataType = (as: string, form = protobufType): string => `${form};as=${as};v=v1;g=meta.k8s.io`;

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  for (const name of ['a', 'b', 'c']) await create(name);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const maps = '/api/v1/namespaces/default/configmaps';

async function open(path: string, accept: string, body?: object): Promise<IncomingMessage> {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  const call = request({ host, port, path, method, ca, cert, key, agent: false, headers: { accept, ...type } });
  call.end(body && JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

async function read(path: string, accept: string, body?: object): Promise<{ response: IncomingMessage; bytes: Buffer }> {
  const response = await open(path, accept, body);
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { response, bytes: Buffer.concat(pieces) };
}

const create = (name: string) =>
  read(maps, 'application/json', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { name } });

// What another reader of Kubernetes' protobuf does with a body.
const schema = protobuf.parse(`syntax = "proto2";
  message Unknown { optional TypeMeta typeMeta = 1; optional bytes raw = 2; }
  message TypeMeta { optional string apiVersion = 1; optional string kind = 2; }
  message WatchEvent { optional string type = 1; optional Raw object = 2; }
  message Raw { optional bytes raw = 1; }
  message ListMeta { optional string resourceVersion = 2; optional string continue = 3; optional int64 remainingItemCount = 4; }
  message List { optional ListMeta metadata = 1; repeated bytes items = 2; }
  message Status { optional string status = 2; optional string message = 3; optional string reason = 4; optional Details details = 5; optional int32 code = 6; }
  message Details { optional string name = 1; optional string kind = 3; }`).root;

// biome-ignore lint/suspicious/noExplicitAny: messages of any type
function decoded(type: string, bytes: Uint8Array): any {
  return schema.lookupType(type).toObject(schema.lookupType(type).decode(bytes), { longs: Number });
}

function opened(body: Buffer): { type: { apiVersion: string; kind: string }; raw: Buffer } {
  expect(body.subarray(0, 4).toString('latin1')).toBe('k8s\0');
  const { typeMeta, raw } = decoded('Unknown', body.subarray(4));
  return { type: typeMeta, raw };
}

const nameOf = (bytes: Buffer): string | undefined =>
  decodeMessage<{ metadata: { name?: string } }>('berth.core.v1.ConfigMap', bytes).metadata.name;

describe('a list as protobuf', () => {
  it('is one message of the stored objects', async () => {
    const { response, bytes } = await read(maps, protobufType);
    expect(response.headers['content-type']).toBe(protobufType);
    const { type, raw } = opened(bytes);
    expect(type).toEqual({ apiVersion: 'v1', kind: 'ConfigMapList' });
    const list = decoded('List', raw);
    expect(list.items.map(nameOf)).toEqual(expect.arrayContaining(['a', 'b', 'c']));
    expect(Number(list.metadata.resourceVersion)).toBeGreaterThan(0);
  });

  it('with a limit says where it goes on', async () => {
    const first = decoded('List', opened((await read(`${maps}?limit=1`, protobufType)).bytes).raw);
    expect(first.items).toHaveLength(1);
    const path = `${maps}?limit=500&continue=${encodeURIComponent(first.metadata.continue)}`;
    const rest = decoded('List', opened((await read(path, protobufType)).bytes).raw);
    expect(rest.items).toHaveLength(first.metadata.remainingItemCount);
  });

  it('of an older version of many pages has the length that it says', async () => {
    const path = '/api/v1/namespaces/kube-system/configmaps';
    const names = Array.from({ length: 6 }, (_, index) => `big-${index}`);
    const bodyOf = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
    for (const name of names) await read(path, 'application/json', bodyOf(name, { text: 'x'.repeat(700_000) }));
    const now = decoded('List', opened((await read(path, protobufType)).bytes).raw);
    await read(path, 'application/json', bodyOf('later', {}));
    const past = `${path}?resourceVersionMatch=Exact&resourceVersion=${now.metadata.resourceVersion}`;
    const then = decoded('List', opened((await read(past, protobufType)).bytes).raw);
    expect(then.items.map(nameOf)).toEqual(now.items.map(nameOf));
    expect(then.metadata).toEqual(now.metadata);
  });

  it('of metadata alone is a PartialObjectMetadataList', async () => {
    const { type, raw } = opened((await read(maps, metadataType('PartialObjectMetadataList'))).bytes);
    expect(type).toEqual({ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList' });
    const [item] = decoded('List', raw).items.map((bytes: Buffer) => decodeMessage('berth.core.v1.ConfigMap', bytes));
    expect(Object.keys(item)).toEqual(['metadata']);
  });
});

it('an error is a Status as protobuf where the client accepts that first', async () => {
  const { response, bytes } = await read(`${maps}/nothing`, `${protobufType},application/json`);
  const { type, raw } = opened(bytes);
  expect([response.statusCode, type]).toEqual([404, { apiVersion: 'v1', kind: 'Status' }]);
  const expected = { status: 'Failure', reason: 'NotFound', code: 404, details: { name: 'nothing', kind: 'configmaps' } };
  expect(decoded('Status', raw)).toMatchObject(expected);
});

it('a watch in protobuf sends frames with their length before each event', async () => {
  const response = await open(
    `${maps}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
    protobufType,
  );
  expect(response.headers['content-type']).toBe(`${protobufType};stream=watch`);
  const events: string[] = [];
  let rest = Buffer.alloc(0);
  for await (const piece of response) {
    rest = Buffer.concat([rest, piece as Buffer]);
    for (; rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0); rest = rest.subarray(4 + rest.readUInt32BE(0))) {
      const { type, object } = decoded('WatchEvent', rest.subarray(4, 4 + rest.readUInt32BE(0)));
      const inner = opened(object.raw);
      expect(inner.type).toEqual({ apiVersion: 'v1', kind: 'ConfigMap' });
      events.push(`${type} ${nameOf(inner.raw) ?? ''}`);
    }
    if (events.at(-1)?.startsWith('BOOKMARK')) break;
  }
  response.destroy();
  expect(events).toEqual(expect.arrayContaining(['ADDED a', 'ADDED b', 'ADDED c', 'BOOKMARK ']));
});

it('items of a JSON list leave out what the list says of their kind', async () => {
  const { bytes } = await read(maps, 'application/json');
  const { items } = JSON.parse(bytes.toString('utf8'));
  expect(items[0]).not.toHaveProperty('kind');
  expect(items[0].metadata.name).toBeTypeOf('string');
});
