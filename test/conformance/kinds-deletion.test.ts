import { expect, test } from 'vitest';
import type { DeleteOptions } from '../../api/generated/types.ts';
import { codeOf, forEveryKind, refusedFields } from './every-kind.ts';

const finalizers = ['example.com/first', 'example.com/second'];

forEveryKind((kind, subject) => {
  test('a delete answers with the object as it was, and a second one finds nothing', async () => {
    const { make, typed, key } = subject();
    const made = await make('gone');
    const answer = await typed.delete(key('gone'));
    expect(answer.metadata).toMatchObject({ name: 'gone', uid: made.metadata?.uid });
    await expect.poll(() => codeOf(typed.get(key('gone')))).toBe('NOT_FOUND');
    expect(await codeOf(typed.delete(key('gone')))).toBe('NOT_FOUND');
    expect((await make('gone')).metadata?.uid).not.toBe(made.metadata?.uid);
  });

  test('finalizers hold it, take no newcomers, and the last to leave lets it go', async () => {
    const { make, typed, key, client } = subject();
    await make('held', { finalizers });
    const deleted = await typed.delete(key('held'));
    expect(deleted.metadata).toMatchObject({ finalizers, deletionTimestamp: { seconds: expect.any(Number) } });
    const again = await typed.delete(key('held'));
    const { deletionTimestamp, deletionGracePeriodSeconds } = deleted.metadata!;
    expect(again.metadata).toMatchObject({ finalizers, deletionTimestamp, deletionGracePeriodSeconds });
    const more = { metadata: { finalizers: [...finalizers, 'example.com/third'] } };
    expect(await refusedFields(client.objects.patch(kind.kind, key('held'), more))).toEqual(['metadata.finalizers']);
    const noted = await typed.patch(key('held'), { metadata: { annotations: { a: 'still changes' } } });
    expect(noted.metadata?.deletionTimestamp).toEqual(deleted.metadata?.deletionTimestamp);
    await typed.patch(key('held'), { metadata: { finalizers: finalizers.slice(1) } });
    expect((await typed.get(key('held'))).metadata?.finalizers).toEqual(finalizers.slice(1));
    await typed.patch(key('held'), { metadata: { finalizers: null } });
    await expect.poll(() => codeOf(typed.get(key('held')))).toBe('NOT_FOUND');
  });

  test('finalizers of an object that is not being deleted come and go', async () => {
    const { make, typed, key } = subject();
    await make('free');
    await typed.patch(key('free'), { metadata: { finalizers } });
    const freed = await typed.patch(key('free'), { metadata: { finalizers: [] } });
    expect(freed.metadata).not.toHaveProperty('finalizers');
    expect(freed.metadata).not.toHaveProperty('deletionTimestamp');
  });

  test('preconditions name the very object and its version', async () => {
    const { make, typed, key } = subject();
    const old = await make('exact');
    const made = await typed.patch(key('exact'), { metadata: { annotations: { a: '1' } } });
    const { uid } = made.metadata!;
    const remove = (preconditions: DeleteOptions['preconditions']) => typed.delete(key('exact'), { preconditions });
    expect(await codeOf(remove({ uid: 'another' }))).toBe('ABORTED');
    expect(await codeOf(remove({ resourceVersion: old.metadata!.resourceVersion! }))).toBe('ABORTED');
    expect(await codeOf(remove({ uid: 'another', resourceVersion: made.metadata!.resourceVersion! }))).toBe('ABORTED');
    expect(await typed.get(key('exact'))).toEqual(made);
    expect(await codeOf(remove({ uid: uid!, resourceVersion: made.metadata!.resourceVersion! }))).toBe('OK');
  });

  test('options that make no sense are refused', async () => {
    const { make, typed, key } = subject();
    await make('kept');
    for (const wrong of [
      { propagationPolicy: 'Sideways' },
      { propagationPolicy: 'Orphan', orphanDependents: true },
      { gracePeriodSeconds: 4_000_000_000 },
      { dryRun: ['Some'] },
    ])
      expect(await codeOf(typed.delete(key('kept'), wrong))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(typed.get(key('kept')))).toBe('OK');
  });

  test('the propagation policy of a deletion is a finalizer, until a controller has carried it out', async () => {
    const { make, typed, key } = subject();
    for (const [name, options, expected] of [
      ['d1', { propagationPolicy: 'Foreground' }, 'foregroundDeletion'],
      ['d2', { propagationPolicy: 'Orphan' }, 'orphan'],
      ['d3', { orphanDependents: true }, 'orphan'],
    ] as const) {
      await make(name);
      const { metadata } = await typed.delete(key(name), options);
      // Ownership of such a kind's objects is not followed, so none of them waits.
      expect(metadata?.finalizers).toEqual(kind.unowned ? undefined : [expected]);
      if (kind.unowned) continue;
      await typed.patch(key(name), { metadata: { finalizers: null } });
      await expect.poll(() => codeOf(typed.get(key(name)))).toBe('NOT_FOUND');
    }
  });

  test('a collection is deleted by selectors, and what was not chosen stays', async () => {
    const { make, typed, client, scope } = subject();
    const labels = { suite: 'many', tier: 'a' };
    for (const name of ['c1', 'c2', 'c3']) await make(name, { labels });
    await make('c4', { labels: { ...labels, tier: 'b' } });
    const left = async () => (await typed.list(scope('many'))).items.map(({ metadata }) => metadata?.name);
    const all = { ...scope('many'), labelSelector: 'suite=many,tier=a' };
    expect(await client.objects.deleteCollection(kind.kind, all, { dryRun: ['All'] })).toBe(3);
    expect(await left()).toHaveLength(4);
    expect(await client.objects.deleteCollection(kind.kind, { ...all, limit: 1 })).toBe(1);
    await expect.poll(left).toEqual(['c2', 'c3', 'c4']);
    expect(await client.objects.deleteCollection(kind.kind, { ...all, fieldSelector: 'metadata.name=c3' })).toBe(1);
    await expect.poll(left).toEqual(['c2', 'c4']);
    expect(await client.objects.deleteCollection(kind.kind, all)).toBe(1);
    await expect.poll(left).toEqual(['c4']);
  });

  test('a collection of all namespaces is not deleted at once', async () => {
    const { client } = subject();
    const everywhere = client.objects.deleteCollection(kind.kind, { labelSelector: 'suite=none' });
    expect(await codeOf(everywhere)).toBe(kind.namespaced ? 'INVALID_ARGUMENT' : 'OK');
  });

  test('of a collection, those that cannot be deleted do not keep the others', async () => {
    const { make, typed, client, scope, key } = subject();
    const labels = { suite: 'some' };
    const first = await make('s1', { labels });
    await make('s2', { labels });
    const only = { preconditions: { uid: first.metadata!.uid! } };
    expect(await codeOf(client.objects.deleteCollection(kind.kind, scope('some'), only))).toBe('ABORTED');
    await expect.poll(() => codeOf(typed.get(key('s1')))).toBe('NOT_FOUND');
    expect(await codeOf(typed.get(key('s2')))).toBe('OK');
  });
});
