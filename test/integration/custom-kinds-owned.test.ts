import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OwnerReference } from '../../api/generated/types.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';
import { cronTab, cronTabs, definitionOf, establish } from './custom-kinds-harness.ts';

// What controllers do with objects of custom kinds: owners and what they own, quotas, the end of a namespace.
let server: RunningServer;
let stopControllers: () => Promise<void>;
const kind = 'CronTab.stable.example.com';
const at = (name: string, namespace = 'default') => ({ namespace, name });

beforeAll(async () => {
  server = await startServer();
  stopControllers = await startControllers(server);
  await establish(server, cronTabs());
});
afterAll(async () => {
  await stopControllers();
  await server.stop();
  await server.remove();
});

type Made = { readonly metadata?: object };
const refer = (owner: string, { metadata }: Made, more: Partial<OwnerReference> = {}): OwnerReference => {
  const { name = '', uid = '' } = metadata as { name?: string; uid?: string };
  const [apiVersion, kind] = owner === 'ConfigMap' ? ['v1', owner] : ['stable.example.com/v1', owner];
  return { apiVersion, kind, name, uid, ...more };
};
const makeTab = (name: string, metadata: JsonObject = {}, namespace = 'default') =>
  server.client.objects.create(kind, cronTab(name, metadata), { namespace });
const makeMap = (name: string, ...ownerReferences: OwnerReference[]) =>
  server.client.configMaps.create({ metadata: { ...at(name), ownerReferences } });
const readTab = (name: string) => server.client.objects.get(kind, at(name));
const readMap = (name: string) => server.client.configMaps.get(at(name));
const gone = (what: string, read: () => Promise<unknown>) =>
  until(`${what} is gone`, () =>
    read().then(
      () => false,
      ({ code }) => code === 'NOT_FOUND',
    ),
  );
const references = (owner: OwnerReference) => [owner] as unknown as JsonObject[];

it('an object of a custom kind takes along what it owns, and goes with its owner', async () => {
  const map = await makeMap('top');
  const tab = await makeTab('middle', { ownerReferences: references(refer('ConfigMap', map)) });
  await makeMap('bottom', refer('CronTab', tab));
  await server.client.configMaps.delete(at('top'));
  await gone('the object of the custom kind', () => readTab('middle'));
  await gone('what it owns', () => readMap('bottom'));
});

it('an object whose owner of a custom kind is another of that name goes, one of an unknown kind stays', async () => {
  await makeTab('here');
  await makeMap('unknown', refer('CronTab', { metadata: { name: 'here', uid: 'u' } }, { kind: 'Picture' }));
  await makeMap('stray', refer('CronTab', { metadata: { name: 'here', uid: 'another' } }));
  await gone('the stray', () => readMap('stray'));
  expect((await readMap('unknown')).metadata?.deletionTimestamp).toBeUndefined();
});

it('a delete in the foreground waits for what blocks it', async () => {
  const tab = await makeTab('front');
  await makeMap('blocking', refer('CronTab', tab, { blockOwnerDeletion: true }));
  await server.client.configMaps.patch(at('blocking'), { metadata: { finalizers: ['example.com/hold'] } });
  await server.client.objects.delete(kind, at('front'), { propagationPolicy: 'Foreground' });
  await until('the dependent is going', async () => (await readMap('blocking')).metadata?.deletionTimestamp !== undefined);
  expect((await readTab('front')).metadata).toMatchObject({ finalizers: ['foregroundDeletion'] });
  await server.client.configMaps.patch(at('blocking'), { metadata: { finalizers: null } });
  await gone('the owner', () => readTab('front'));
});

it('a delete that orphans leaves dependents of custom kinds without the reference', async () => {
  const map = await makeMap('parent');
  await makeTab('orphan', { ownerReferences: references(refer('ConfigMap', map)) });
  await server.client.configMaps.delete(at('parent'), { propagationPolicy: 'Orphan' });
  await gone('the owner', () => readMap('parent'));
  expect((await readTab('orphan')).metadata).not.toHaveProperty('ownerReferences');
});

it('a kind that goes takes along what its objects own; of one that comes again objects are followed again', async () => {
  const names = { plural: 'tabs', kind: 'Tab', shortNames: [] };
  const definition = definitionOf({ metadata: { name: 'tabs.stable.example.com' }, names });
  const makeIn = (name: string) =>
    server.client.objects.create('Tab.stable.example.com', { ...cronTab(name), kind: 'Tab' }, { namespace: 'default' });
  const remove = async () => {
    await server.client.objects.delete('CustomResourceDefinition', { name: 'tabs.stable.example.com' });
    await gone('the definition', () =>
      server.client.objects.get('CustomResourceDefinition', { name: 'tabs.stable.example.com' }),
    );
  };
  // An owner that is missing is found to be when its kind comes.
  await makeMap('early', refer('Tab', { metadata: { name: 'none', uid: 'u' } }));
  await establish(server, definition);
  await gone('what names a missing owner', () => readMap('early'));
  const first = await makeIn('first');
  await makeMap('of-first', refer('Tab', first));
  await remove();
  await gone('what the object owned', () => readMap('of-first'));
  await makeMap('late', refer('Tab', first));
  await gone('what names an owner of a kind that went', () => readMap('late'));
  await establish(server, definition);
  const second = await makeIn('second');
  await makeMap('of-second', refer('Tab', second));
  await server.client.objects.delete('Tab.stable.example.com', at('second'));
  await gone('what the second owned', () => readMap('of-second'));
  await remove();
});

it('a quota counts objects of a custom kind, bounds them, and its namespace takes them along', async () => {
  const { namespaces, resourceQuotas, objects } = server.client;
  const hard = { 'count/crontabs.stable.example.com': { string: '2' } };
  await namespaces.create({ metadata: { name: 'team' } });
  await resourceQuotas.create({ metadata: at('tabs', 'team'), spec: { hard } });
  await makeTab('one', {}, 'team');
  await makeTab('two', { finalizers: ['example.com/hold'] }, 'team');
  await expect(makeTab('three', {}, 'team')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await until('the quota tells', async () => {
    const { status } = await resourceQuotas.get(at('tabs', 'team'));
    return status?.used?.['count/crontabs.stable.example.com']?.string === '2';
  });
  await namespaces.delete({ name: 'team' });
  await until('what remains is told', async () => {
    const { status } = await namespaces.get({ name: 'team' });
    return status?.conditions?.some(({ message }) => message?.includes('crontabs (1)')) === true;
  });
  await objects.patch(kind, at('two', 'team'), { metadata: { finalizers: null } });
  await gone('the namespace', () => namespaces.get({ name: 'team' }));
});

it('loses nothing of what its objects own while the preferred version changes', async () => {
  const names = { plural: 'gears', kind: 'Gear', shortNames: [] };
  const name = { name: 'gears.stable.example.com' };
  await establish(server, definitionOf({ metadata: name, names }));
  const owners = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      server.client.objects.create('Gear.stable.example.com', { ...cronTab(`g${i}`), kind: 'Gear' }, { namespace: 'default' }),
    ),
  );
  const uids = await Promise.all(owners.map(async (owner, i) => (await makeMap(`of-g${i}`, refer('Gear', owner))).metadata?.uid));
  for (const added of ['v2', 'v3', 'v4']) {
    const { spec } = await server.client.objects.get('CustomResourceDefinition', name);
    const versions = (spec as { versions: JsonObject[] }).versions;
    const next = { ...versions[0]!, name: added, storage: false };
    await server.client.objects.patch('CustomResourceDefinition', name, { spec: { versions: [next, ...versions] } });
    await until('the version is preferred', () =>
      server.client.objects.list('Gear.stable.example.com', { namespace: 'default' }).then(
        ({ items }) => items[0]?.apiVersion === `stable.example.com/${added}`,
        () => false,
      ),
    );
  }
  // What is deleted afterwards goes: the controllers look at owners of the kind by then.
  await server.client.objects.delete('Gear.stable.example.com', at('g0'));
  await gone('what an owner had that is gone', () => readMap('of-g0'));
  const { items } = await server.client.configMaps.list({ namespace: 'default' });
  const kept = items.filter(({ metadata }) => !metadata?.deletionTimestamp).map(({ metadata }) => metadata?.uid);
  expect(uids.slice(1).filter((uid) => !kept.includes(uid))).toEqual([]);
}, 60_000);
