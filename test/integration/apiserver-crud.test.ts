import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ListOptions, Pod } from '../../api/generated/types.ts';
import { connect, listAll } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
  await server.client.namespaces.create({ metadata: { name: 'pages' } });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const web = (name: string): Pod => ({
  metadata: { name, namespace: 'default', labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'nginx' }] },
});
const at = (name: string) => ({ namespace: 'default', name });
const text = (name: string, namespace = 'default', data: Record<string, string> = { a: '1' }) => ({
  metadata: { name, namespace },
  data,
});

test('a created object can be read, listed and deleted', async () => {
  const created = await server.client.pods.create(web('a'));
  expect(created.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(created.metadata?.generation).toBe(1);
  expect(created.status?.phase).toBe('Pending');
  expect(await server.client.pods.get(at('a'))).toEqual(created);
  expect((await server.client.pods.list({ namespace: 'default', labelSelector: 'app=web' })).items).toEqual([created]);
  await server.client.pods.delete(at('a'));
  await expect(server.client.pods.get(at('a'))).rejects.toMatchObject({ code: 'NOT_FOUND', subject: { kind: 'Pod', name: 'a' } });
  await expect(server.client.pods.delete(at('a'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a name that is taken is refused, a generated one is always free', async () => {
  await server.client.configMaps.create(text('taken'));
  await expect(server.client.configMaps.create(text('taken'))).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  const make = () => server.client.configMaps.create({ metadata: { generateName: 'gen-', namespace: 'default' } });
  const made = await Promise.all(Array.from({ length: 20 }, make));
  expect(new Set(made.map((each) => each.metadata?.name)).size).toBe(20);
});

test('every violation is reported at once with its path', async () => {
  const wrong: Pod = {
    metadata: { name: 'Bad', namespace: 'default', labels: { '-x': '!' } },
    spec: { containers: [{ name: 'UP' }] },
  };
  const error = await server.client.pods.create(wrong).catch((reason) => reason);
  expect(error.code).toBe('INVALID_ARGUMENT');
  const fields = error.violations.map((each: { field: string }) => each.field);
  expect(fields).toEqual(expect.arrayContaining(['metadata.name', 'spec.containers[0].name', 'spec.containers[0].image']));
  expect(fields.some((field: string) => field.startsWith('metadata.labels'))).toBe(true);
});

test('an update from an old version is a conflict, one without a version is not, an equal one writes nothing', async () => {
  const first = await server.client.configMaps.create(text('versions'));
  const second = await server.client.configMaps.update({ ...first, data: { a: '2' } });
  await expect(server.client.configMaps.update({ ...first, data: { a: '3' } })).rejects.toMatchObject({ code: 'ABORTED' });
  const third = await server.client.configMaps.update(text('versions', 'default', { a: '4' }));
  expect(Number(third.metadata?.resourceVersion)).toBeGreaterThan(Number(second.metadata?.resourceVersion));
  const same = await server.client.configMaps.update(third);
  expect(same).toEqual(third);
});

test('concurrent patches of different fields all arrive', async () => {
  await server.client.configMaps.create(text('patched', 'default', {}));
  const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
  await Promise.all(keys.map((key) => server.client.configMaps.patch(at('patched'), { data: { [key]: 'v' } })));
  expect(Object.keys((await server.client.configMaps.get(at('patched'))).data ?? {})).toEqual(expect.arrayContaining(keys));
});

test('a patch is read as strictly as an update', async () => {
  const patch = { spec: { containersss: [] } };
  await server.client.pods.create(web('strict'));
  await expect(server.client.pods.patch(at('strict'), patch)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [{ field: 'spec.containersss' }],
  });
  await expect(server.client.pods.patch(at('strict'), { metadata: { resourceVersion: '1' } })).rejects.toMatchObject({
    code: 'ABORTED',
  });
});

test('an update of the object leaves the status alone, and one of the status the spec; both take metadata', async () => {
  const made = await server.client.pods.create(web('targets'));
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u' };
  const viaObject = await server.client.pods.update({
    ...made,
    metadata: { ...made.metadata, labels: { x: '1' } },
    status: { phase: 'Failed' },
  });
  expect(viaObject.status?.phase).toBe('Pending');
  const viaStatus = await server.client.pods.updateStatus({
    ...viaObject,
    metadata: { ...viaObject.metadata, labels: { y: '2' }, ownerReferences: [owner], generation: 9 },
    spec: { ...viaObject.spec, containers: [] },
    status: { ...viaObject.status, phase: 'Running' },
  });
  expect(viaStatus.spec).toEqual(made.spec);
  expect(viaStatus.status?.phase).toBe('Running');
  expect(viaStatus.metadata).toMatchObject({ labels: { y: '2' }, generation: 1 });
  // As in Kubernetes: a pod's owners are not its status's writer's to say.
  expect(viaStatus.metadata?.ownerReferences).toBeUndefined();
  await expect(server.client.pods.updateStatus(viaObject)).rejects.toMatchObject({ code: 'ABORTED' });
  const { resourceVersion: _, ...withoutVersion } = viaObject.metadata!;
  const whatever = await server.client.pods.updateStatus({ ...viaObject, metadata: withoutVersion, status: { phase: 'Failed' } });
  expect([whatever.status?.phase, whatever.metadata?.labels]).toEqual(['Failed', { x: '1' }]);
  const label = { 'not a key': 'x' };
  const invalid = server.client.pods.patch({ ...at('targets'), subresource: 'status' }, { metadata: { labels: label } });
  await expect(invalid).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [{ field: 'metadata.labels[not a key]' }],
  });
});

test('finalizers keep a deleted object until they are gone', async () => {
  const { configMaps } = server.client;
  await configMaps.create({ metadata: { name: 'kept', namespace: 'default', finalizers: ['example.com/a'] } });
  const deleted = await configMaps.delete(at('kept'));
  expect(deleted.metadata?.deletionTimestamp).toBeDefined();
  const adding = configMaps.patch(at('kept'), { metadata: { finalizers: ['example.com/a', 'example.com/b'] } });
  await expect(adding).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await configMaps.patch(at('kept'), { metadata: { finalizers: null } });
  await expect(configMaps.get(at('kept'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a bound pod waits for its agent, which ends it by its uid', async () => {
  await server.client.nodes.create({ metadata: { name: 'n1' } });
  const node = await server.client.nodes.get({ name: 'n1' });
  await server.client.nodes.updateStatus({ ...node, status: { allocatable: { pods: { string: '9' } } } });
  const made = await server.client.pods.create(web('graceful'));
  await server.client.pods.bind(at('graceful'), 'n1');
  const waiting = await server.client.pods.delete(at('graceful'), { gracePeriodSeconds: 20 });
  expect(waiting.metadata?.deletionGracePeriodSeconds).toBe(20);
  const shorter = await server.client.pods.delete(at('graceful'), { gracePeriodSeconds: 5 });
  expect(shorter.metadata?.deletionGracePeriodSeconds).toBe(5);
  for (const options of [{ gracePeriodSeconds: 60 }, {}])
    expect((await server.client.pods.delete(at('graceful'), options)).metadata).toEqual(shorter.metadata);
  const other = server.client.pods.delete(at('graceful'), { gracePeriodSeconds: 0, preconditions: { uid: 'other' } });
  await expect(other).rejects.toMatchObject({ code: 'ABORTED' });
  await server.client.pods.delete(at('graceful'), { gracePeriodSeconds: 0, preconditions: { uid: made.metadata!.uid } });
  await expect(server.client.pods.get(at('graceful'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('pages show one snapshot while writes go on', async () => {
  const wanted = Array.from({ length: 25 }, (_, i) => `p${String(i).padStart(2, '0')}`);
  for (const name of wanted) await server.client.configMaps.create(text(name, 'pages'));
  const seen: string[] = [];
  let token = '';
  do {
    const page = await server.client.configMaps.list({ namespace: 'pages', limit: 10, continue: token });
    for (const item of page.items) seen.push(`${item.metadata?.name}=${item.data?.a}`);
    token = page.metadata.continue ?? '';
    await server.client.configMaps.patch({ namespace: 'pages', name: 'p20' }, { data: { a: 'changed' } });
    await server.client.configMaps.create({ metadata: { generateName: 'p1-', namespace: 'pages' } });
  } while (token);
  expect(seen).toEqual(wanted.map((name) => `${name}=1`));
  await expect(server.client.configMaps.list({ namespace: 'pages', continue: 'AAAA' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});

test('a page never exceeds 2 MiB, asked or not', async () => {
  const big = { big: 'x'.repeat(900_000) };
  for (const name of ['b1', 'b2', 'b3']) await server.client.configMaps.create(text(name, 'kube-system', big));
  const page = await server.client.configMaps.list({ namespace: 'kube-system' });
  expect(page.items).toHaveLength(2);
  expect(page.metadata.continue).toBeTruthy();
});

test('a namespace that is being deleted or is not there takes nothing; those that Berth needs stay', async () => {
  const { namespaces, configMaps } = server.client;
  await namespaces.create({ metadata: { name: 'going', finalizers: ['example.com/a'] } });
  await namespaces.delete({ name: 'going' });
  await expect(configMaps.create(text('late', 'going'))).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
  await expect(namespaces.delete({ name: 'default' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await expect(configMaps.create(text('x', 'nowhere'))).rejects.toMatchObject({
    code: 'NOT_FOUND',
    subject: { kind: 'Namespace' },
  });
});

test('a dry run goes through every step and stores nothing', async () => {
  const made = await server.client.configMaps.create(text('dry'), { dryRun: ['All'] });
  expect(made.metadata?.uid).toBeDefined();
  await expect(server.client.configMaps.get(at('dry'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('fields that Berth does not act on come back as warnings, whatever characters they hold', async () => {
  const heard: string[] = [];
  const client = connect({ ...server.admin, onWarning: (warning) => heard.push(warning) });
  const pod = web('warned');
  pod.spec!.securityContext = { seLinuxChangePolicy: 'Recursive' };
  await client.pods.create(pod);
  client.close();
  expect(heard.length).toBeGreaterThan(0);
  expect(heard.join('\n')).toContain('spec.securityContext.seLinuxChangePolicy');
});

test('a page in JSON keeps to the size of a page, however much larger than the stored form it is', async () => {
  await server.client.namespaces.create({ metadata: { name: 'json' } });
  const data = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`k${i}`, '\u0001'.repeat(100)]));
  const names = Array.from({ length: 8 }, (_, i) => `o${i}`);
  await Promise.all(names.map((name) => server.client.configMaps.create(text(name, 'json', data))));
  const seen: string[] = [];
  const all = { namespace: 'json', resourceVersion: '0' };
  let page = await server.client.objects.list('ConfigMap', all);
  for (;;) {
    expect(Buffer.byteLength(JSON.stringify(page.items))).toBeLessThan(2 * 1024 * 1024);
    seen.push(...page.items.map((each) => String((each.metadata as { name: string }).name)));
    if (!page.metadata.continue) break;
    page = await server.client.objects.list('ConfigMap', { namespace: 'json', continue: page.metadata.continue });
  }
  expect(seen).toEqual(names);
  const version = page.metadata.resourceVersion!;
  const exact = await listAll(server.client.configMaps, {
    namespace: 'json',
    resourceVersion: version,
    resourceVersionMatch: 'Exact',
    limit: 3,
  });
  expect(exact.items).toHaveLength(names.length);
});

test('a condition of a pod has a type, of which there is one', async () => {
  await server.client.pods.create(web('merged-conditions'));
  const patch = (conditions: object[]) =>
    server.client.pods.patch(
      { ...at('merged-conditions'), subresource: 'status', type: 'strategic' },
      { status: { conditions } },
    );
  const written = await patch([
    { type: 'A', status: 'True' },
    { type: 'B', status: 'False' },
  ]);
  expect(written.status?.conditions?.map(({ type }) => type)).toEqual(['A', 'B']);
  // A strategic merge patch puts new items first, as Kubernetes' does.
  await expect(patch([{ type: '', status: 'True' }])).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    violations: [{ field: 'status.conditions[0].type' }],
  });
  expect((await patch([{ type: 'B', status: 'True' }])).status?.conditions?.map(({ type }) => type)).toEqual(['A', 'B']);
  const conditions = [
    { type: 'A', status: 'True' },
    { type: 'A', status: 'False' },
  ];
  const twice = await server.client.pods.updateStatus({
    ...written,
    metadata: { name: 'merged-conditions', namespace: 'default' },
    status: { conditions },
  });
  expect(twice.status?.conditions).toMatchObject(conditions);
});

test('a page of a version shows exactly that one, a whole list at least that one', async () => {
  const { configMaps, events } = server.client;
  await server.client.namespaces.create({ metadata: { name: 'versions' } });
  const first = await configMaps.create(text('a', 'versions'));
  await configMaps.create(text('b', 'versions'));
  const { resourceVersion } = first.metadata!;
  const scope = { namespace: 'versions', resourceVersion };
  const listed = async (options: ListOptions) => {
    const { items, metadata } = await configMaps.list({ ...scope, ...options });
    return [items.map(({ metadata: { name } = {} }) => name).join(), metadata.resourceVersion === resourceVersion];
  };
  expect(await listed({ limit: 5 })).toEqual(['a', true]);
  expect(await listed({})).toEqual(['a,b', false]);
  expect(await listed({ limit: 5, resourceVersionMatch: 'NotOlderThan' })).toEqual(['a,b', false]);
  expect(await listed({ limit: 5, resourceVersion: '0' })).toEqual(['a,b', false]);
  // Of a kind without history there is no such page.
  await expect(events.list({ ...scope, limit: 5 })).resolves.toMatchObject({ items: [] });
});

test('pods and events are selected by the fields that Kubernetes documents', async () => {
  const { pods, events } = server.client;
  const made = await pods.create({ ...web('selected'), spec: { ...web('selected').spec, hostNetwork: true } });
  await pods.patch({ ...at('selected'), subresource: 'status' }, { status: { nominatedNodeName: 'n9' } });
  const found = async (fieldSelector: string) =>
    (await pods.list({ namespace: 'default', fieldSelector })).items.map(({ metadata }) => metadata?.name);
  for (const selector of [
    'spec.hostNetwork=true',
    'status.nominatedNodeName=n9',
    'spec.serviceAccountName=default,status.nominatedNodeName!=',
  ])
    expect(await found(selector), selector).toEqual(['selected']);
  expect(await found('spec.hostNetwork=false,metadata.name=selected')).toEqual([]);
  const involvedObject = {
    ...{ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'selected', uid: made.metadata!.uid! },
    ...{ resourceVersion: '7', fieldPath: 'spec.containers{main}' },
  };
  // Of the form of events.k8s.io, with an eventTime, a message is bounded; the older form is bounded as an object is.
  const message = 'x'.repeat(5_000);
  const event = { metadata: at('told'), involvedObject, reason: 'Told', type: 'Normal', source: { component: 'me' }, message };
  await events.create(event);
  for (const selector of [
    ...Object.entries(involvedObject).map(([field, value]) => `involvedObject.${field}=${value}`),
    'reason=Told,type=Normal,source=me,reportingComponent=me',
  ]) {
    const all = { namespace: 'default', fieldSelector: `${selector},metadata.name=told` };
    expect((await events.list(all)).items, selector).toHaveLength(1);
  }
  const newer = { ...event, metadata: at('newer'), eventTime: { seconds: 1 }, action: 'Telling', reportingInstance: 'me-1' };
  await expect(events.create(newer)).rejects.toMatchObject({ violations: [{ field: 'message' }] });
});

test('events expire, and nothing else does', async () => {
  const shortly = await startServer({ eventTtlMs: 200, backend: 'lmdb' });
  const { events, configMaps } = shortly.client;
  await configMaps.create(text('stays'));
  await events.create({
    metadata: { name: 'goes', namespace: 'default' },
    involvedObject: { kind: 'Pod', namespace: 'default' },
  });
  const names = async () => (await events.list({ namespace: 'default' })).items.map(({ metadata }) => metadata?.name);
  await expect.poll(names, { timeout: 10_000 }).toEqual([]);
  expect((await configMaps.get(at('stays'))).metadata?.name).toBe('stays');
  await shortly.stop();
  await shortly.remove();
});
