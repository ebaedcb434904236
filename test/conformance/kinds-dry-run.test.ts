import { expect, test } from 'vitest';
import { fromJson } from '../../api/codec/json.ts';
import type { Service } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { codeOf, forEveryKind, labelled, refusedFields } from './every-kind.ts';

const dryRun = { dryRun: ['All'] };

/** Without the cluster address that the server draws for each service: a dry run shows one that it does not hold. */
function undrawn(object: ApiObject): ApiObject {
  const { spec } = object as Service;
  if (!spec?.clusterIP) return object;
  expect([spec.clusterIP, spec.clusterIPs]).toEqual([expect.stringMatching(/^10\.43\./), [spec.clusterIP]]);
  return { ...object, spec: { ...spec, clusterIP: '', clusterIPs: [] } } as Service;
}

/** Without the times of conditions that a new object has: two writes may fall into two seconds. */
function untimed<T extends object>(object: T): T {
  const { status } = object as { status?: { conditions?: readonly object[] } };
  if (!status?.conditions) return object;
  return { ...object, status: { ...status, conditions: status.conditions.map((each) => ({ ...each, lastTransitionTime: 0 })) } };
}

forEveryKind((kind, subject) => {
  test('a dry run of a create answers as if, checks everything, and stores nothing', async () => {
    const { typed, client, key, json, make } = subject();
    const answer = await typed.create(fromJson<ApiObject>(kind, json('tried')), dryRun);
    expect(answer.metadata).toMatchObject({ ...key('tried'), uid: expect.any(String), creationTimestamp: expect.anything() });
    expect(answer.metadata?.resourceVersion ?? '').toBe('');
    expect(await codeOf(typed.get(key('tried')))).toBe('NOT_FOUND');
    const made = await make('tried');
    const written = ({
      metadata: { uid: _, resourceVersion: __, creationTimestamp: ___, managedFields: ____, ...rest } = {},
      ...object
    }: ApiObject) => ({
      ...object,
      metadata: rest,
    });
    expect(untimed(undrawn(written(answer)))).toEqual(untimed(undrawn(written(made))));
    const create = (metadata: object) => client.objects.create(kind.kind, json('tried', { ...metadata }), dryRun);
    expect(await codeOf(create({}))).toBe('ALREADY_EXISTS');
    expect(await refusedFields(create({ name: kind.nameRule === 'path' ? 'a%' : 'Wrong' }))).toEqual(['metadata.name']);
    if (kind.namespaced) expect(await codeOf(create({ name: 'new', namespace: 'nowhere' }))).toBe('NOT_FOUND');
  });

  test('a dry run of a change answers as if, checks everything, and changes nothing', async () => {
    const { typed, key, make, observation } = subject();
    const made = await make('stays');
    const labels = { 'example.com/step': 'tried' };
    const updated = await typed.update(labelled(made, 'tried'), dryRun);
    expect(updated.metadata).toMatchObject({ labels, resourceVersion: made.metadata?.resourceVersion });
    const patched = await typed.patch(key('stays'), { metadata: { labels } }, dryRun);
    expect(patched.metadata).toMatchObject({ labels, resourceVersion: made.metadata?.resourceVersion });
    const wrong = typed.patch(key('stays'), { metadata: { labels: { '-': 'x' } } }, dryRun);
    expect(await codeOf(wrong)).toBe('INVALID_ARGUMENT');
    const late = { ...made, metadata: { ...made.metadata, resourceVersion: '1' } };
    expect(await codeOf(typed.update(labelled(late, 'x'), dryRun))).toBe('ABORTED');
    if (kind.hasStatus) {
      const status = await typed.patch({ ...key('stays'), subresource: 'status' }, { status: observation.status }, dryRun);
      expect(status).toMatchObject({ status: observation.shown });
      const whole = { ...made, status: (status as { status?: object }).status } as ApiObject;
      expect(await typed.updateStatus(whole, dryRun)).toMatchObject({ status: observation.shown });
    }
    expect(await typed.get(key('stays'))).toEqual(made);
  });

  test('a dry run of a delete answers as if, checks everything, and deletes nothing', async () => {
    const { typed, client, key, make, scope } = subject();
    const made = await make('lives', { finalizers: ['example.com/x'], labels: { suite: 'lives' } });
    const answer = await typed.delete(key('lives'), dryRun);
    expect(answer.metadata).toMatchObject({ uid: made.metadata?.uid, deletionTimestamp: expect.anything() });
    expect(await codeOf(typed.delete(key('lives'), { ...dryRun, preconditions: { uid: 'another' } }))).toBe('ABORTED');
    expect(await codeOf(typed.delete(key('nobody'), dryRun))).toBe('NOT_FOUND');
    expect(await client.objects.deleteCollection(kind.kind, scope('lives'), dryRun)).toBe(1);
    expect(await typed.get(key('lives'))).toEqual(made);
    // The last finalizer of an object that is being deleted removes it; a dry run of that does not.
    await typed.delete(key('lives'));
    await typed.patch(key('lives'), { metadata: { finalizers: null } }, dryRun);
    expect((await typed.get(key('lives'))).metadata?.finalizers).toEqual(['example.com/x']);
  });

  test('a dry run refuses what is too large to be stored', async () => {
    const { typed, client, json, key } = subject();
    const field = large[kind.kind];
    if (!field) return expect(Object.keys(large)).not.toContain(kind.kind);
    const object = { ...json('huge'), ...field };
    expect(await codeOf(client.objects.create(kind.kind, object, dryRun))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(typed.get(key('huge')))).toBe('NOT_FOUND');
  });

  test('a dry run is for all stages or none', async () => {
    const { client, json } = subject();
    expect(await codeOf(client.objects.create(kind.kind, json('odd'), { dryRun: ['Some'] }))).toBe('INVALID_ARGUMENT');
  });
});

/** More than 1.5 MiB in a field that has no bound of its own. */
const large: Readonly<Record<string, JsonObject>> = {
  Pod: { spec: { containers: [{ name: 'main', image: 'x', args: ['x'.repeat(1_600_000)] }] } },
  Toy: { spec: { color: 'x'.repeat(1_600_000) } },
};
