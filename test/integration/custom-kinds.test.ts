import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { condition, cronTab, cronTabs, definitionOf, establish, versionOf } from './custom-kinds-harness.ts';

let server: RunningServer;
const kind = 'CronTab.stable.example.com';
const name = 'crontabs.stable.example.com';
const at = (name: string, namespace = 'default') => ({ namespace, name });

beforeAll(async () => {
  server = await startServer({ backend: 'lmdb' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('a CustomResourceDefinition', () => {
  it('is served, and says so', async () => {
    await establish(server, cronTabs());
    const { objects } = server.client;
    const made = await objects.get('CustomResourceDefinition', { name: 'crontabs.stable.example.com' });
    expect(made).toMatchObject({
      metadata: { generation: 1, finalizers: ['customresourcecleanup.apiextensions.k8s.io'] },
      spec: { names: { singular: 'crontab', listKind: 'CronTabList' }, conversion: { strategy: 'None' } },
      status: { acceptedNames: { plural: 'crontabs', shortNames: ['ct'] }, storedVersions: ['v1'] },
    });
    expect(condition(made, 'NamesAccepted')).toMatchObject({ status: 'True', reason: 'NoConflicts' });
    expect(await objects.kinds()).toContainEqual(
      expect.objectContaining({
        apiVersion: 'stable.example.com/v1',
        kind: 'CronTab',
        plural: 'crontabs',
        shortNames: ['ct'],
        categories: ['all'],
        hasStatus: true,
        isScalable: true,
      }),
    );
  });

  it.each<[string, JsonObject, string]>([
    [
      'of a group of Kubernetes without its approval',
      { metadata: { name: 'crontabs.batch.k8s.io' }, spec: { group: 'batch.k8s.io' } },
      'api-approved.kubernetes.io',
    ],
    ['with another name than its plural and group', { metadata: { name: 'others.stable.example.com' } }, 'metadata.name'],
    ['of a group without a dot', { metadata: { name: 'crontabs.example' }, spec: { group: 'example' } }, 'spec.group'],
    ['with a schema that is no object', { schema: { type: 'string' } }, 'spec.versions[0].schema.openAPIV3Schema.type'],
    ['with two storage versions', { versions: 2 }, 'spec.versions'],
    ['with a webhook that is nowhere', { spec: { conversion: { strategy: 'Webhook' } } }, 'spec.conversion.webhook.clientConfig'],
  ])('%s is refused with the path', async (_title, change, path) => {
    await expect(server.client.objects.create('CustomResourceDefinition', definitionOf(change))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(path),
    });
  });

  it('with a wrong name and a wrong schema is refused with both at once', async () => {
    const wrong = definitionOf({ metadata: { name: 'others.stable.example.com' }, schema: { type: 'string' } });
    const refused = server.client.objects.create('CustomResourceDefinition', wrong);
    await expect(refused).rejects.toThrow(/metadata\.name.*spec\.versions\[0\]\.schema\.openAPIV3Schema\.type/s);
  });

  it('whose names another one has is not served until that one is gone', async () => {
    const other = definitionOf({ metadata: { name: 'tabs.stable.example.com' }, names: { plural: 'tabs', kind: 'Tab' } });
    await server.client.objects.create('CustomResourceDefinition', other);
    const read = () => server.client.objects.get('CustomResourceDefinition', { name: 'tabs.stable.example.com' });
    await until('the conflict is told', async () => condition(await read(), 'NamesAccepted') !== undefined);
    expect(condition(await read(), 'NamesAccepted')).toMatchObject({
      status: 'False',
      reason: 'ShortNamesConflict',
      message: '"ct" is already in use',
    });
    expect(condition(await read(), 'Established')).toMatchObject({ status: 'False', reason: 'NotAccepted' });
    await expect(server.client.objects.list('Tab.stable.example.com')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await server.client.objects.delete('CustomResourceDefinition', { name: 'tabs.stable.example.com' });
    await until('it is gone', () =>
      read().then(
        () => false,
        () => true,
      ),
    );
  });
});

describe('objects of a custom kind', () => {
  it('of a kind or version that is not served are refused with what is', async () => {
    const { objects } = server.client;
    await expect(objects.list('other.example.com/v1/Other')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'no kind "Other" in version "other.example.com/v1"; a CustomResourceDefinition would add it',
    });
    await expect(objects.list('stable.example.com/v9/CronTab')).rejects.toMatchObject({
      message: expect.stringContaining('use "stable.example.com/v1"'),
    });
  });

  it('are created with defaults, read, listed, changed and deleted', async () => {
    const { objects } = server.client;
    const isUsed = async () =>
      condition(await objects.get('CustomResourceDefinition', { name }), 'berth.io/InUse')?.status === 'True';
    expect(await isUsed()).toBe(false);
    const made = await objects.create(kind, cronTab('a'), { namespace: 'default' });
    await until('the definition tells that it is in use', isUsed);
    expect(made).toMatchObject({
      apiVersion: 'stable.example.com/v1',
      kind: 'CronTab',
      metadata: { name: 'a', namespace: 'default', generation: 1 },
      spec: { cronSpec: '* * * * *', replicas: 1 },
    });
    expect(await objects.get(kind, at('a'))).toEqual(made);
    expect((await objects.list(kind, { namespace: 'default' })).items).toEqual([made]);
    const merged = await objects.patch(kind, at('a'), { spec: { image: 'b' } });
    expect(merged).toMatchObject({ metadata: { generation: 2 }, spec: { image: 'b', replicas: 1 } });
    const operations = [{ op: 'replace', path: '/spec/image', value: 'c' }];
    expect(await objects.patch(kind, { ...at('a'), type: 'json' }, operations)).toMatchObject({ spec: { image: 'c' } });
    await expect(objects.patch(kind, { ...at('a'), type: 'strategic' }, {})).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('take no strategic merge patch'),
    });
    const labelled = await objects.patch(kind, at('a'), { metadata: { labels: { team: 'x' } } });
    expect(labelled).toMatchObject({ metadata: { generation: 3, labels: { team: 'x' } } });
    // Only a Namespace is kept by a list of this name.
    const updated = await objects.update(kind, { ...labelled, spec: { cronSpec: '@daily', finalizers: ['of the user'] } });
    expect(updated).toMatchObject({ metadata: { generation: 4 }, spec: { cronSpec: '@daily', replicas: 1 } });
    expect(await objects.deleteCollection(kind, { namespace: 'default', labelSelector: 'team=x' })).toBe(1);
    await expect(objects.get(kind, at('a'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are replaced only by a writer that names the version which it has read', async () => {
    const { objects } = server.client;
    const made = await objects.create(kind, cronTab('replaced', { namespace: 'default' }));
    const { resourceVersion, ...metadata } = made.metadata as { resourceVersion: string };
    const blind = objects.update(kind, { ...made, metadata });
    await expect(blind).rejects.toThrow('metadata.resourceVersion: invalid value "": must be specified for an update');
    await objects.update(kind, { ...made, metadata: { ...metadata, resourceVersion } });
    await objects.delete(kind, at('replaced'));
  });

  it('are refused with the path of what breaks the schema', async () => {
    const { objects } = server.client;
    const wrong = { ...cronTab('wrong'), spec: { replicas: 'three' } };
    await expect(objects.create(kind, wrong, { namespace: 'default' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: expect.arrayContaining([
        expect.objectContaining({ field: 'spec.cronSpec' }),
        expect.objectContaining({ field: 'spec.replicas' }),
      ]),
    });
    await expect(objects.create(kind, { ...cronTab('Wrong_Name') }, { namespace: 'default' })).rejects.toMatchObject({
      message: expect.stringContaining('metadata.name'),
    });
  });

  it('lose fields that the schema does not have, or are refused for them', async () => {
    const { objects } = server.client;
    const more = { ...cronTab('more'), spec: { cronSpec: 'x', colour: 'red' } };
    const options = { namespace: 'default' };
    await expect(objects.create(kind, more, { ...options, fieldValidation: 'Strict' })).rejects.toMatchObject({
      message: expect.stringContaining('spec.colour'),
    });
    expect(await objects.create(kind, more, options)).toMatchObject({ spec: { cronSpec: 'x', replicas: 1 } });
    expect((await objects.get(kind, at('more'))).spec).not.toHaveProperty('colour');
    await objects.delete(kind, at('more'));
  });

  it('lose such fields by a server-side apply too, whether it makes the object or changes it', async () => {
    const { objects } = server.client;
    const sent = (more: JsonObject) => ({ ...cronTab('ssa'), spec: { cronSpec: '@daily', ...more } });
    const asked = { fieldManager: 'ada', namespace: 'default' };
    for (const spec of [{ evil: 1 }, { image: 'i', evil: { x: 1 } }] as JsonObject[]) {
      const written = await objects.apply(kind, sent(spec), asked);
      expect(written.spec).not.toHaveProperty('evil');
      expect(JSON.stringify(written.metadata)).not.toContain('evil');
    }
    const strict = objects.apply(kind, sent({ evil: 1 }), { ...asked, fieldValidation: 'Strict' });
    await expect(strict).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('spec.evil') });
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'ssa' }, spec: { replicas: 3 } };
    await objects.apply(kind, scale, { ...asked, subresource: 'scale', force: true });
    expect((await objects.get(kind, at('ssa'))).spec).toMatchObject({ replicas: 3 });
    await objects.delete(kind, at('ssa'));
  });

  it('have defaults that no applier owns, whether its apply makes the object or changes it', async () => {
    const { objects } = server.client;
    const spec = { cronSpec: '@daily' };
    const by = (fieldManager: string) => ({ fieldManager, namespace: 'default' });
    const made = await objects.apply(kind, { ...cronTab('filled'), spec }, by('ada'));
    expect(made.spec).toEqual({ cronSpec: '@daily', replicas: 1 });
    expect(JSON.stringify(made.metadata)).not.toContain('f:replicas');
    const changed = await objects.apply(kind, { ...cronTab('filled'), spec: { replicas: 2 } }, by('bob'));
    expect(changed.spec).toEqual({ cronSpec: '@daily', replicas: 2 });
    await objects.delete(kind, at('filled'));
  });

  it('are merged item by item by a server-side apply, which other writers take items from', async () => {
    const { objects } = server.client;
    const spec = (steps: JsonObject[]) => ({ cronSpec: '@daily', steps });
    const sent = (...steps: JsonObject[]) => ({ ...cronTab('items'), spec: spec(steps) });
    await objects.apply(kind, sent({ name: 'a', run: '1' }, { name: 'b' }), { fieldManager: 'ada', namespace: 'default' });
    const bob = { fieldManager: 'bob', namespace: 'default' };
    const merged = await objects.apply(kind, sent({ name: 'c', run: '3' }), bob);
    expect(merged.spec).toMatchObject({ steps: [{ name: 'a', run: '1' }, { name: 'b' }, { name: 'c', run: '3' }] });
    await expect(objects.apply(kind, sent({ name: 'a', run: '2' }), bob)).rejects.toMatchObject({
      code: 'ABORTED',
      message: expect.stringContaining('.spec.steps[name="a"].run'),
    });
    const change = [{ op: 'replace', path: '/spec/steps/0/run', value: '9' }];
    await objects.patch(kind, { ...at('items'), type: 'json' }, change);
    const ada = { fieldManager: 'ada', namespace: 'default' };
    await expect(objects.apply(kind, sent({ name: 'a', run: '1' }), ada)).rejects.toMatchObject({
      message: expect.stringContaining('.spec.steps[name="a"].run'),
    });
    const left = await objects.apply(kind, sent({ name: 'b' }), ada);
    expect(left.spec).toMatchObject({ steps: [{ name: 'b' }, { name: 'c', run: '3' }] });
    await objects.delete(kind, at('items'));
  });

  it('have a status and a scale of their own', async () => {
    const { objects } = server.client;
    const made = await objects.create(kind, { ...cronTab('s'), status: { replicas: 9 } }, { namespace: 'default' });
    expect(made.status).toBeUndefined();
    const told = await objects.updateStatus(kind, { ...made, spec: {}, status: { replicas: 2, labelSelector: 'a=b' } });
    expect(told).toMatchObject({ metadata: { generation: 1 }, spec: { cronSpec: '* * * * *' }, status: { replicas: 2 } });
    expect(await objects.get(kind, { ...at('s'), subresource: 'scale' })).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 1 },
      status: { replicas: 2, selector: 'a=b' },
    });
    await objects.patch(kind, { ...at('s'), subresource: 'scale' }, { spec: { replicas: 5 } });
    expect(await objects.get(kind, at('s'))).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 5 } });
    const patched = await objects.patch(kind, { ...at('s'), subresource: 'status' }, { status: { replicas: 5 }, spec: null });
    expect(patched).toMatchObject({ spec: { replicas: 5 }, status: { replicas: 5 } });
    await objects.delete(kind, at('s'));
  });
});

describe('a custom kind', () => {
  it('shows its columns and is selected by its fields', async () => {
    const { objects } = server.client;
    for (const image of ['x', 'y'])
      await objects.create(kind, { ...cronTab(image), spec: { cronSpec: '@daily', image } }, { namespace: 'default' });
    const { table } = await objects.listTable(kind, { namespace: 'default', fieldSelector: 'spec.image=y' });
    expect(table.columns?.map(({ name }) => name)).toEqual(['NAME', 'SPEC', 'REPLICAS', 'PHASE', 'AGE']);
    expect(table.rows?.map(({ cells }) => cells?.slice(0, 4))).toEqual([['y', '@daily', '1', '']]);
    await objects.deleteCollection(kind, { namespace: 'default' });
  });

  it('is served in several versions, of which only the apiVersion differs', async () => {
    const { objects } = server.client;
    const versions = [versionOf(), versionOf({ name: 'v1beta1', storage: false, deprecated: true })];
    await objects.patch('CustomResourceDefinition', { name }, { spec: { versions } });
    await until('the version is served', () =>
      objects.list('stable.example.com/v1beta1/CronTab').then(
        () => true,
        () => false,
      ),
    );
    await objects.create(
      'stable.example.com/v1beta1/CronTab',
      { ...cronTab('old'), apiVersion: 'stable.example.com/v1beta1' },
      {
        namespace: 'default',
      },
    );
    expect(await objects.get(kind, at('old'))).toMatchObject({ apiVersion: 'stable.example.com/v1' });
    const old = await objects.get('stable.example.com/v1beta1/CronTab', at('old'));
    expect(old).toMatchObject({ apiVersion: 'stable.example.com/v1beta1', spec: { replicas: 1 } });
  });

  it('is served in no version while none is to be, keeps its objects, and is emptied all the same', async () => {
    const { objects } = server.client;
    const definition = 'shades.stable.example.com';
    const serving = (served: boolean) => ({
      spec: { versions: [versionOf({ served, additionalPrinterColumns: [], selectableFields: [], subresources: {} })] },
    });
    const names = { plural: 'shades', kind: 'Shade', shortNames: ['sh'] };
    await establish(server, definitionOf({ metadata: { name: definition }, names }));
    const shade = { ...cronTab('s'), kind: 'Shade' };
    await objects.create('Shade.stable.example.com', shade, { namespace: 'default' });
    await objects.patch('CustomResourceDefinition', { name: definition }, serving(false));
    const isServed = async () => (await objects.kinds()).some((each) => each.kind === 'Shade');
    expect(await isServed()).toBe(false);
    await expect(objects.get('Shade.stable.example.com', at('s'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const hidden = await objects.get('CustomResourceDefinition', { name: definition });
    expect(condition(hidden, 'Established')).toMatchObject({ status: 'True' });
    await objects.patch('CustomResourceDefinition', { name: definition }, serving(true));
    expect(await isServed()).toBe(true);
    expect(await objects.get('Shade.stable.example.com', at('s'))).toMatchObject({ spec: { replicas: 1 } });
    await objects.patch('CustomResourceDefinition', { name: definition }, serving(false));
    expect(await isServed()).toBe(false);
    await objects.delete('CustomResourceDefinition', { name: definition });
    const isGone = () =>
      objects.get('CustomResourceDefinition', { name: definition }).then(
        () => false,
        () => true,
      );
    await until('the definition is gone', isGone);
    await establish(server, definitionOf({ metadata: { name: definition }, names }));
    expect((await objects.list('Shade.stable.example.com')).items).toEqual([]);
    await objects.delete('CustomResourceDefinition', { name: definition });
    await until('the definition is gone again', isGone);
  });

  it('is there with its objects after a restart, and goes with its definition and all objects', async () => {
    await server.stop();
    server = await startServer({ backend: 'lmdb', dataDir: server.dataDir });
    const { objects } = server.client;
    expect(await objects.get(kind, at('old'))).toMatchObject({ kind: 'CronTab' });
    await objects.patch(kind, at('old'), { metadata: { finalizers: ['example.com/keep'] } });
    await objects.delete('CustomResourceDefinition', { name });
    const read = () => objects.get('CustomResourceDefinition', { name });
    await until('the objects are deleted', async () => (await objects.get(kind, at('old'))).metadata !== undefined);
    await until('it is being deleted', async () => condition(await read(), 'Terminating')?.status === 'True');
    await expect(objects.create(kind, cronTab('new'), { namespace: 'default' })).rejects.toMatchObject({
      ...{ code: 'FAILED_PRECONDITION', message: expect.stringContaining('the kind is being deleted') },
    });
    await objects.patch(kind, at('old'), { metadata: { finalizers: null } });
    await until('the definition is gone', () =>
      read().then(
        () => false,
        () => true,
      ),
    );
    await until('the kind is gone', async () => !(await objects.kinds()).some((each) => each.kind === 'CronTab'));
    await expect(objects.list(kind)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await establish(server, cronTabs());
    expect((await objects.list(kind)).items).toEqual([]);
  });
});
