import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigMap, DeleteOptions, OwnerReference } from '../../api/generated/types.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

// Owners and what they own, with the controllers and a real API server.
let server: RunningServer;
let serial = 0;
let namespace: string;
let stopControllers: () => Promise<void>;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});
beforeEach(async () => {
  namespace = `n${++serial}`;
  await server.client.namespaces.create({ metadata: { name: namespace } });
  stopControllers = await startControllers(server);
});
afterEach(() => stopControllers());

const at = (name: string) => ({ namespace, name });
const refer = ({ metadata }: ConfigMap, more: Partial<OwnerReference> = {}): OwnerReference => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', name: metadata?.name ?? '', uid: metadata?.uid ?? '' },
  ...more,
});
const make = (name: string, ownerReferences: OwnerReference[] = [], finalizers: string[] = []) =>
  server.client.configMaps.create({ metadata: { ...at(name), ownerReferences, finalizers } });
const remove = (name: string, options: DeleteOptions = {}) => server.client.configMaps.delete(at(name), options);
const names = async () => (await server.client.configMaps.list({ namespace })).items.map(({ metadata }) => metadata?.name ?? '');
const untilLeft = async (...expected: string[]) => {
  let last: string[] = [];
  const done = until('only the expected are left', async () => {
    last = await names();
    return last.toSorted().join() === expected.toSorted().join();
  });
  await done.catch((error: unknown) => {
    throw new Error(`${String(error)}: expected ${expected.toSorted()}, left are ${last}`);
  });
};
const ownersOf = async (name: string) =>
  ((await server.client.configMaps.get(at(name))).metadata?.ownerReferences ?? []).map((each) => each.name);

describe('an object whose owner is deleted', () => {
  it('is deleted too, with its own dependents', async () => {
    const a = await make('a');
    const b = await make('b', [refer(a)]);
    await make('c', [refer(b)]);
    await make('other');
    await remove('a');
    await untilLeft('other');
  });

  it('stays while it has another owner, without the reference to the one that is gone', async () => {
    const [a, b] = [await make('a'), await make('b')];
    await make('both', [refer(a), refer(b)]);
    await remove('a');
    await until('the reference is dropped', async () => (await ownersOf('both')).join() === 'b');
    await remove('b');
    await untilLeft();
  });

  it('is deleted when the owner was recreated under the same name', async () => {
    const first = await make('a');
    await remove('a');
    await make('a');
    await make('late', [refer(first)]);
    await untilLeft('a');
  });

  it('is deleted when the owner was deleted while no controller ran', async () => {
    const a = await make('a');
    await make('b', [refer(a)]);
    await stopControllers();
    await remove('a');
    expect(await names()).toEqual(['b']);
    stopControllers = await startControllers(server);
    await untilLeft();
  });

  it('stays when the kind of the owner is unknown to the server', async () => {
    const a = await make('a');
    await make('stays', [refer(a, { kind: 'Picture', apiVersion: 'example.com/v1' })]);
    await make('goes', [refer(a)]);
    await remove('a');
    await untilLeft('stays');
  });

  it('stays when it is cluster-scoped and the owner is namespaced', async () => {
    const a = await make('a');
    const metadata = { name: `${namespace}-kept`, ownerReferences: [refer(a)] };
    await server.client.namespaces.create({ metadata });
    await make('goes', [refer(a)]);
    await remove('a');
    await untilLeft();
    expect((await server.client.namespaces.get({ name: metadata.name })).metadata?.deletionTimestamp).toBeUndefined();
  });

  it('is deleted when the owner exists only in another namespace', async () => {
    const a = await make('a');
    const elsewhere = { namespace: 'default', name: `stray-${namespace}` };
    await server.client.configMaps.create({ metadata: { ...elsewhere, ownerReferences: [refer(a)] } });
    await until('the stray is gone', () =>
      server.client.configMaps.get(elsewhere).then(
        () => false,
        (error) => error.code === 'NOT_FOUND',
      ),
    );
    expect(await names()).toEqual(['a']);
    const fieldSelector = `involvedObject.name=${elsewhere.name}`;
    const told = await until('an event says why', async () => {
      const { items } = await server.client.events.list({ namespace: 'default', fieldSelector });
      return items.length > 0 && items;
    });
    expect(told).toMatchObject([{ reason: 'OwnerRefInvalidNamespace', source: { component: 'garbage-collector-controller' } }]);
  });

  it('is a pod as well, and goes with the grace that it has', async () => {
    const a = await make('a');
    const { pods } = server.client;
    await pods.create({
      metadata: { ...at('p'), ownerReferences: [refer(a)] },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    await remove('a');
    await until('the pod is gone', async () => (await pods.list({ namespace })).items.length === 0);
  });
});

describe('a delete in the foreground', () => {
  it('waits until the dependents that block it are gone, theirs included', async () => {
    const a = await make('a');
    const b = await make('b', [refer(a, { blockOwnerDeletion: true })]);
    await make('c', [refer(b, { blockOwnerDeletion: true })], ['example.com/hold']);
    await remove('a', { propagationPolicy: 'Foreground' });
    await until('all are going', async () =>
      (await server.client.configMaps.list({ namespace })).items.every(({ metadata }) => metadata?.deletionTimestamp),
    );
    expect(await names()).toEqual(['a', 'b', 'c']);
    await server.client.configMaps.patch(at('c'), { metadata: { finalizers: null } });
    await untilLeft();
  });

  it('does not wait for dependents that do not block it', async () => {
    const a = await make('a');
    await make('b', [refer(a)], ['example.com/hold']);
    await remove('a', { propagationPolicy: 'Foreground' });
    await untilLeft('b');
    await server.client.configMaps.patch(at('b'), { metadata: { finalizers: null } });
    await untilLeft();
  });

  it('ends also where an object owns itself', async () => {
    const itself = await make('itself');
    const ownerReferences = [refer(itself, { blockOwnerDeletion: true })];
    await server.client.configMaps.patch(at('itself'), { metadata: { ownerReferences } });
    await remove('itself', { propagationPolicy: 'Foreground' });
    await untilLeft();
  });

  it('ends also where objects own each other', async () => {
    const a = await make('a');
    const b = await make('b', [refer(a, { blockOwnerDeletion: true })]);
    const ownerReferences = [refer(b, { blockOwnerDeletion: true })];
    await server.client.configMaps.patch(at('a'), { metadata: { ownerReferences } });
    await remove('a', { propagationPolicy: 'Foreground' });
    await untilLeft();
  });
});

it.each(['Foreground', 'Orphan'])(
  'removes an event at once, whatever it says of dependents: an event has none (%s)',
  async (policy) => {
    const { events } = server.client;
    const involvedObject = { kind: 'ConfigMap', namespace, name: 'a' };
    await events.create({ metadata: at('e'), involvedObject, reason: 'Test', type: 'Normal' });
    await events.delete(at('e'), { propagationPolicy: policy });
    await expect(events.get(at('e'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  },
);

describe('a delete that orphans', () => {
  it.each([{ propagationPolicy: 'Orphan' }, { orphanDependents: true }])(
    'leaves the dependents, without the reference (%j)',
    async (options) => {
      const a = await make('a');
      await make('b', [refer(a)]);
      await remove('a', options);
      await untilLeft('b');
      expect(await ownersOf('b')).toEqual([]);
    },
  );

  it('refuses two words that may contradict each other', async () => {
    await make('a');
    const both = remove('a', { propagationPolicy: 'Foreground', orphanDependents: true });
    await expect(both).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

it('garbage collection leaves exactly the objects with a living owner, for random graphs and deletions', async () => {
  const family = fc.array(fc.record({ owners: fc.array(fc.nat(), { maxLength: 2 }), deleted: fc.boolean() }), {
    minLength: 2,
    maxLength: 12,
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(family, async (members) => {
      namespace = `f${++run}`;
      await server.client.namespaces.create({ metadata: { name: namespace } });
      const made: ConfigMap[] = [];
      const expected: string[] = [];
      const parents: number[][] = [];
      for (const [i, { owners }] of members.entries()) {
        const chosen = i === 0 ? [] : [...new Set(owners.map((each) => each % i))];
        parents.push(chosen);
        made.push(
          await make(
            `o${i}`,
            chosen.map((each) => refer(made[each]!)),
          ),
        );
      }
      for (const [i, { deleted }] of members.entries()) if (deleted) await remove(`o${i}`).catch(() => undefined);
      for (const [i, { deleted }] of members.entries()) {
        const owned = parents[i]!.length === 0 || parents[i]!.some((each) => expected.includes(`o${each}`));
        if (!deleted && owned) expected.push(`o${i}`);
      }
      await untilLeft(...expected);
      // What comes later is handled later: nothing else went meanwhile.
      await make('late', [refer(await make('last'))]);
      await remove('last');
      await untilLeft(...expected);
    }),
    { numRuns: 8 },
  );
});
