import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { type ApiError, type BulkResult, type BulkWrite, type ConfigMap, connect, type JsonObject } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
const warnings: string[] = [];
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const configMap = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  ...more,
});
const create = (name: string, more: JsonObject = {}): BulkWrite => ({
  verb: 'create',
  kind: 'ConfigMap',
  object: configMap(name, more),
});
const key = (name: string) => ({ namespace: 'default', name });

/** All results in the order of the writes. */
async function run<W extends BulkWrite>(writes: Iterable<W>, client = server.client): Promise<BulkResult<W>[]> {
  const results: BulkResult<W>[] = [];
  for await (const result of client.objects.bulk(writes)) results.push(result);
  expect(results).toHaveLength([...writes].length);
  return results.sort((a, b) => a.index - b.index);
}

/** Everything that an error says, but for the name of the call. */
const saidOf = (error: unknown): unknown => ({ ...(error as ApiError), message: (error as ApiError).message, requestId: '' });

/** What a single call answers or throws. */
const outcome = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

test('every write has a result of its own, and one that is refused fails no other', async () => {
  const made = await server.client.configMaps.create({ metadata: key('there'), data: { a: '1' } });
  const results = await run<BulkWrite>([
    create('fine'),
    create('there'),
    create('Bad_Name'),
    create('unknown-field', { nonsense: 1 }),
    { verb: 'update', kind: 'ConfigMap', object: configMap('nowhere') },
    { verb: 'patch', kind: 'ConfigMap', target: key('there'), patch: { data: { b: '2' } } },
    {
      verb: 'update',
      kind: 'ConfigMap',
      object: configMap('stale', { metadata: { ...key('there'), resourceVersion: made.metadata!.resourceVersion! } }),
    },
    { verb: 'delete', kind: 'ConfigMap', key: key('gone-already') },
    { verb: 'create', kind: 'Nonsense', object: configMap('x') },
    create('fine-too'),
  ]);
  expect(results.map(({ error }) => error?.code ?? 'OK')).toEqual([
    'OK',
    'ALREADY_EXISTS',
    'INVALID_ARGUMENT',
    'INVALID_ARGUMENT',
    'NOT_FOUND',
    'OK',
    'ABORTED',
    'NOT_FOUND',
    'NOT_FOUND',
    'OK',
  ]);
  expect(results[2]!.error).toMatchObject({ reason: 'Invalid', violations: [{ field: 'metadata.name' }] });
  expect(results[3]!.error).toMatchObject({ violations: [{ field: 'nonsense', reason: 'FieldUnknown' }] });
  expect(results[1]!.error).toMatchObject({ subject: { kind: 'ConfigMap', namespace: 'default', name: 'there' } });
  expect(results[0]!.object).toEqual(await server.client.objects.get('ConfigMap', key('fine')));
  expect((await server.client.configMaps.get(key('there'))).data).toEqual({ a: '1', b: '2' });
});

test('an item is refused with the same words, details and violations as a call of its own', async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default' },
    spec: { containers: [{ name: 'UPPER', image: '' }], restartPolicy: 'Perhaps' },
  };
  const { objects } = server.client;
  const pairs: [BulkWrite, Promise<unknown>][] = [
    [{ verb: 'create', kind: 'Pod', object: pod }, objects.create('Pod', pod)],
    [{ verb: 'delete', kind: 'Pod', key: key('nope') }, objects.delete('Pod', key('nope'))],
    [{ verb: 'delete', kind: 'Pod', key: { name: 'p' } }, objects.delete('Pod', { name: 'p' })],
    [{ verb: 'updateStatus', kind: 'ConfigMap', object: configMap('x') }, objects.updateStatus('ConfigMap', configMap('x'))],
    [
      { verb: 'create', kind: 'ConfigMap', object: configMap('x'), options: { fieldValidation: 'Perhaps' } },
      objects.create('ConfigMap', configMap('x'), { fieldValidation: 'Perhaps' }),
    ],
  ];
  const alone = await Promise.all(pairs.map(([, call]) => outcome(call)));
  const results = await run(pairs.map(([write]) => write));
  for (const [at, { error }] of results.entries()) expect(saidOf(error)).toEqual(saidOf(alone[at]));
});

test('warnings stand in the result of the object that they are about', async () => {
  const pod = (name: string, spec: JsonObject): BulkWrite => ({
    verb: 'create',
    kind: 'Pod',
    object: { apiVersion: 'v1', kind: 'Pod', metadata: key(name), spec: { containers: [{ name: 'a', image: 'x' }], ...spec } },
  });
  const [quiet, warned] = await run([pod('quiet', {}), pod('warned', { securityContext: { seLinuxChangePolicy: 'Recursive' } })]);
  expect(quiet!.warnings).toEqual([]);
  expect(warned!.warnings).toEqual([expect.stringContaining('spec.securityContext.seLinuxChangePolicy')]);
});

test('a pod is judged by what came before it on the stream: its account, its priority', async () => {
  const account = (name: string) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: key(name) });
  const pod = (name: string, spec: JsonObject): BulkWrite => ({
    verb: 'create',
    kind: 'Pod',
    object: { apiVersion: 'v1', kind: 'Pod', metadata: key(name), spec: { containers: [{ name: 'a', image: 'x' }], ...spec } },
  });
  const results = await run([
    { verb: 'create', kind: 'ServiceAccount', object: account('first') },
    { verb: 'create', kind: 'ServiceAccount', object: account('second') },
    { verb: 'create', kind: 'PriorityClass', object: { metadata: { name: 'urgent' }, value: 7 } },
    pod('of-first', { serviceAccountName: 'first', priorityClassName: 'urgent' }),
    pod('of-second', { serviceAccountName: 'second' }),
    pod('of-nobody', { serviceAccountName: 'nobody' }),
  ]);
  expect(results.map(({ error }) => error?.reason)).toEqual([...Array(5).fill(undefined), 'Forbidden']);
});

test('a claim gets the default class, and a second one is refused, that came before it on the stream', async () => {
  const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const create = (kind: string, object: JsonObject): BulkWrite => ({ verb: 'create', kind, object });
  const requests = { storage: '1Mi' };
  const [, claim, , second] = await run([
    create('StorageClass', { metadata: { name: 'just-made', annotations: isDefault }, provisioner: 'example.com/p' }),
    create('PersistentVolumeClaim', {
      metadata: key('of-default'),
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests } },
    }),
    create('PriorityClass', { metadata: { name: 'usual' }, value: 1, globalDefault: true }),
    create('PriorityClass', { metadata: { name: 'also-usual' }, value: 2, globalDefault: true }),
  ]);
  expect(claim!.object).toMatchObject({ spec: { storageClassName: 'just-made' } });
  expect(second!.error?.reason).toBe('Forbidden');
});

test('a dry run checks everything and stores nothing', async () => {
  const options = { dryRun: ['All'] };
  const [made, refused] = await run<BulkWrite>([
    { verb: 'create', kind: 'ConfigMap', object: configMap('dry'), options },
    { verb: 'create', kind: 'ConfigMap', object: configMap('Dry_Bad'), options },
  ]);
  expect(made!.object).toMatchObject({ metadata: { name: 'dry', uid: expect.any(String) } });
  expect(refused!.error).toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(server.client.configMaps.get(key('dry'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('each item is authorized by itself', async () => {
  const { key: keyFile, certificate } = await issueNodeCredentials(server.dataDir, 'n1');
  const node = connect({
    ...server.admin,
    cert: await readFile(certificate, 'utf8'),
    key: await readFile(keyFile, 'utf8'),
  });
  const make = (kind: string, name: string): BulkWrite => ({
    verb: 'create',
    kind,
    object: { apiVersion: 'v1', kind, metadata: kind === 'Node' ? { name } : key(name) },
  });
  const results = await run([make('Node', 'n1'), make('Node', 'n2'), make('ConfigMap', 'by-node')], node);
  node.close();
  expect(results.map(({ error }) => error?.code ?? 'OK')).toEqual(['OK', 'PERMISSION_DENIED', 'PERMISSION_DENIED']);
});

test('writes of one object are carried out in the order in which they were sent', async () => {
  const results = await run<BulkWrite>([
    create('chain'),
    { verb: 'patch', kind: 'ConfigMap', target: key('chain'), patch: { data: { step: '1' } } },
    { verb: 'patch', kind: 'ConfigMap', target: key('chain'), patch: { data: { step: '2' } } },
    { verb: 'delete', kind: 'ConfigMap', key: key('chain') },
    { verb: 'delete', kind: 'ConfigMap', key: key('chain') },
    create('chain', { data: { step: '3' } }),
  ]);
  expect(results.map(({ error }) => error?.code ?? 'OK')).toEqual(['OK', 'OK', 'OK', 'OK', 'NOT_FOUND', 'OK']);
  expect(results.map(({ object }) => (object?.data as JsonObject | undefined)?.step)).toEqual([
    undefined,
    '1',
    '2',
    '2',
    undefined,
    '3',
  ]);
});

test('a namespace may be made together with what goes into it', async () => {
  const results = await run<BulkWrite>([
    { verb: 'create', kind: 'Namespace', object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } } },
    ...Array.from(
      { length: 5 },
      (_, i): BulkWrite => ({
        verb: 'create',
        kind: 'ConfigMap',
        object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${i}` } },
        options: { namespace: 'shop' },
      }),
    ),
  ]);
  expect(results.map(({ error }) => error?.message ?? 'OK')).toEqual(Array(6).fill('OK'));
});

test('generated names are drawn for each item, and thousands of items go through one stream', async () => {
  const writes = Array.from({ length: 2_500 }, (): BulkWrite => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'many-', namespace: 'default' } };
    return { verb: 'create', kind: 'ConfigMap', object };
  });
  const results = await run(writes);
  const names = results.map(({ object }) => (object!.metadata as { name: string }).name);
  expect(new Set(names).size).toBe(2_500);
  const gone = await run(names.map((name): BulkWrite => ({ verb: 'delete', kind: 'ConfigMap', key: key(name) })));
  expect(gone.filter(({ error }) => error)).toEqual([]);
});

test('the writes are taken as they go, and what is not asked for any more is not sent', async () => {
  let taken = 0;
  async function* endless(): AsyncGenerator<BulkWrite> {
    for (;;) yield { verb: 'delete', kind: 'ConfigMap', key: key(`no-such-${taken++}`) };
  }
  let seen = 0;
  for await (const { error } of server.client.objects.bulk(endless())) {
    expect(error).toMatchObject({ code: 'NOT_FOUND' });
    if (++seen === 3_000) break;
  }
  expect(taken - seen).toBeLessThanOrEqual(1_001);
  const before = taken;
  await server.client.configMaps.list({ namespace: 'default' });
  expect(taken - before).toBeLessThanOrEqual(1);
});

test('a writer shares a stream between the typed writes of a program', async () => {
  const client = connect({ ...server.admin, onWarning: (text) => void warnings.push(text) });
  const writer = client.bulkWriter();
  const writes = writer.resource('ConfigMap');
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) => writes.create({ metadata: key(`typed-${i}`), data: { i: String(i) } })),
  );
  expect(made[7]).toEqual(await client.configMaps.get(key('typed-7')));
  const patched: ConfigMap = await writes.patch(key('typed-7'), { data: { more: 'x' } });
  expect(patched.data).toEqual({ i: '7', more: 'x' });
  await expect(writes.update(made[7]!)).rejects.toMatchObject({ code: 'ABORTED', reason: 'Conflict' });
  await expect(writes.delete(key('nope'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await writer.resource('Pod').create({
    metadata: key('typed'),
    spec: { containers: [{ name: 'a', image: 'x' }], securityContext: { seLinuxChangePolicy: 'Recursive' } },
  });
  expect(warnings).toEqual([expect.stringContaining('spec.securityContext.seLinuxChangePolicy')]);
  await writer.close();
  await expect(writes.create({ metadata: key('late') })).rejects.toMatchObject({ code: 'CANCELLED' });
  client.close();
});

test('a writer may be answered with metadata only', async () => {
  const writer = server.client.bulkWriter({ answers: 'metadata' });
  const made = await writer.resource('ConfigMap').create({ metadata: key('short'), data: { a: 'b' } });
  expect(made).toEqual({ metadata: (await server.client.configMaps.get(key('short'))).metadata });
  await writer.close();
});
