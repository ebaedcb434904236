import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import { type Connection, createConnection } from '../../client/connection/connection.ts';
import { type Client, connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Requests whose text costs the server more than it costs the attacker.

let server: RunningServer;
let editor: Client;
let guest: Client;
let connection: Connection;

/** "editor" may edit in the namespace default, "guest" nothing. */
beforeAll(async () => {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const lines = ['editor', 'guest'].map((user) => formatToken(`token-of-${user}`, { user, groups: [] }));
  await writeFile(file, (await readFile(file, 'utf8')) + lines.join(''));
  server = await startServer({ dataDir: first.dataDir });
  const { address, ca } = server.info;
  [editor, guest] = ['editor', 'guest'].map((user) => connect({ address, ca, token: `token-of-${user}` })) as [Client, Client];
  connection = createConnection({ address, ca, token: 'token-of-editor' });
  await server.client.roleBindings.create({
    metadata: { namespace: 'default', name: 'editor' },
    roleRef: { kind: 'ClusterRole', name: 'edit' },
    subjects: [{ kind: 'User', name: 'editor' }],
  });
  await server.client.configMaps.create({ metadata: { namespace: 'default', name: 'target' }, data: { a: '1' } });
});
afterAll(async () => {
  for (const client of [editor, guest]) client.close();
  connection.close();
  await server.stop();
  await server.remove();
});

const firstOf = async (stream: AsyncIterable<unknown>) => stream[Symbol.asyncIterator]().next();
const terms = (term: (at: number) => string): string => Array.from({ length: 1_001 }, (_, at) => term(at)).join(',');

describe.each([
  ['too many label terms', { labelSelector: terms((at) => `k${at}`) }],
  ['3 MiB of label terms', { labelSelector: 'a,'.repeat(1_500_000) }],
  ['too many field terms', { fieldSelector: terms((at) => `metadata.name=${at}`) }],
  ['3 MiB of field terms', { fieldSelector: 'a=,'.repeat(1_000_000) }],
  ['a field selector that cannot be read', { fieldSelector: '=' }],
])('a request with %s', (_title, options) => {
  const namespace = 'default';
  it.each<[string, (client: Client) => Promise<unknown>]>([
    ['List', ({ configMaps }) => configMaps.list({ namespace, ...options })],
    ['Watch', ({ configMaps }) => firstOf(configMaps.watch({ namespace, ...options }, {}))],
    ['DeleteCollection', ({ objects }) => objects.deleteCollection('ConfigMap', { namespace, ...options })],
    ['Objects.List', ({ objects }) => objects.list('ConfigMap', { namespace, ...options })],
  ])('of %s is refused as such, and to a caller without rights as not permitted', async (_method, call) => {
    await expect(call(editor)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(call(guest)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});

it('watches with long selectors are refused to a user who has many, until one ends', async () => {
  const labelSelector = `a in (${Array.from({ length: 900 }, (_, at) => `${'b'.repeat(56)}${at}`).join(',')})`;
  const watch = () => {
    const stop = new AbortController();
    const events = editor.configMaps.watch(
      { namespace: 'default', labelSelector, sendInitialEvents: true, allowWatchBookmarks: true },
      { signal: stop.signal },
    );
    return { stop, opened: firstOf(events) };
  };
  const open: ReturnType<typeof watch>[] = [];
  let refusal: unknown;
  while (open.length < 100 && refusal === undefined) {
    const next = watch();
    await next.opened
      .then(() => open.push(next))
      .catch((error: unknown) => {
        refusal = error;
      });
  }
  expect(refusal).toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: expect.stringContaining('close some') });
  expect(open.length).toBeGreaterThan(50);
  await firstOf(
    server.client.configMaps.watch(
      { namespace: 'default', labelSelector: 'x=y', sendInitialEvents: true, allowWatchBookmarks: true },
      {},
    ),
  );
  open[0]?.stop.abort();
  await vi.waitFor(() => watch().opened, { timeout: 10_000 });
  for (const each of open) each.stop.abort();
}, 60_000);

it.each(['labelSelector', 'fieldSelector'] as const)('bounds the raw %s of a review', async (selector) => {
  const resourceAttributes = { verb: 'list', resource: 'pods', [selector]: { rawSelector: 'a=b,'.repeat(100_000) } };
  await expect(guest.reviews.canI({ resourceAttributes })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  // Short enough, and too many.
  const rawSelector = Array.from({ length: 1_100 }, (_, at) => `k${at}=v`).join();
  await expect(
    guest.reviews.canI({ resourceAttributes: { ...resourceAttributes, [selector]: { rawSelector } } }),
  ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('1000 terms') });
  const requirements = Array.from({ length: 1_001 }, (_, at) => ({ key: `k${at}`, operator: 'Exists' }));
  const many = { resourceAttributes: { ...resourceAttributes, [selector]: { requirements } } };
  await expect(guest.reviews.canI(many)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

describe('a patch', () => {
  const target = { namespace: 'default', name: 'target' };
  const types = { merge: 'merge-patch', strategic: 'strategic-merge-patch', json: 'json-patch' };
  const method = {
    path: '/berth.core.v1.ConfigMaps/Patch',
    request: 'berth.meta.v1.PatchRequest',
    response: 'berth.core.v1.ConfigMap',
  };
  const nested = (levels: number) => Buffer.from(`{"data":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`);
  const operations = (text: string, times: number) => Buffer.from(`[${Array(times).fill(text).join(',')}]`);

  it.each<[string, 'merge' | 'strategic' | 'json', Buffer, string]>([
    ['of 200,000 levels', 'merge', nested(200_000), 'nested more than 128 levels'],
    ['of 200,000 levels', 'strategic', nested(200_000), 'nested more than 128 levels'],
    ['of 200,000 levels', 'json', operations(`{"op":"add","path":"/data","value":${nested(200_000)}}`, 1), 'nested more than'],
    ['of 10,001 operations', 'json', operations('{"op":"test","path":"/data/a","value":"1"}', 10_001), 'more than 10000'],
    ['that nests by copying', 'json', operations('{"op":"copy","from":"/data","path":"/data/a"}', 9_000), 'nested more than'],
  ])('%s (%s) is the fault of its sender', async (_title, type, patch, why) => {
    // The client would write the patch down itself, which takes recursion.
    const request = { ...target, type: `application/${types[type]}+json`, patch };
    await expect(connection.unary(method, request)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(why),
    });
  });
});
