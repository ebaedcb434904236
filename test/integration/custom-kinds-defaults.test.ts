import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { COMPLETE_BATCH } from '../../apiserver/custom/complete-objects.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { cronTab, cronTabs, establish } from './custom-kinds-harness.ts';

// Objects of a custom kind whose schema gets another default when they are there already.
let server: RunningServer;
const kind = 'CronTab.stable.example.com';
const count = COMPLETE_BATCH + 20;

beforeAll(async () => {
  server = await startServer();
  await establish(server, cronTabs());
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

interface Tab extends JsonObject {
  metadata: { name: string; resourceVersion: string; generation: number; managedFields: { manager: string }[] };
  spec: { image?: string; replicas?: number };
}
const tabs = async (): Promise<Tab[]> => (await server.client.objects.list(kind, { namespace: 'default' })).items as Tab[];

/** Patches the properties of the spec in the schema. */
const setSchema = (operations: JsonObject[]): Promise<unknown> =>
  server.client.objects.patch(
    'CustomResourceDefinition',
    { name: 'crontabs.stable.example.com', type: 'json' },
    operations.map(({ path, ...more }) => ({
      ...{ ...more, path: `/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/${path}` },
    })),
  );

it('each gets it once, without a field manager or a new generation; its own values and removed defaults stay', async () => {
  for (let i = 0; i < count; i++) await server.client.objects.create(kind, cronTab(`c${i}`), { namespace: 'default' });
  const own = { ...cronTab('own'), spec: { cronSpec: '* * * * *', image: 'mine' } };
  await server.client.objects.create(kind, own, { namespace: 'default' });
  const before = await tabs();

  await setSchema([
    { op: 'add', path: 'image/default', value: 'given' },
    { op: 'remove', path: 'replicas/default' },
  ]);
  await until('all have the default', async () => (await tabs()).every(({ spec }) => spec.image !== undefined));
  const after = await tabs();
  expect(after.map(({ metadata, spec }) => [metadata.name, spec.image, spec.replicas])).toEqual(
    before.map(({ metadata: { name } }) => [name, name === 'own' ? 'mine' : 'given', 1]),
  );
  expect(after.map(({ metadata }) => metadata.managedFields)).toEqual(before.map(({ metadata }) => metadata.managedFields));
  expect(after.map(({ metadata }) => metadata.generation)).toEqual(before.map(({ metadata }) => metadata.generation));
  const versionOf = (all: Tab[]) => all.find(({ metadata }) => metadata.name === 'own')!.metadata.resourceVersion;
  expect(versionOf(after)).toBe(versionOf(before));
  const made = await server.client.objects.create(kind, cronTab('new'), { namespace: 'default' });
  expect((made as Tab).spec).toEqual({ cronSpec: '* * * * *', image: 'given' });
});
