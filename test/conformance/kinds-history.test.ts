import { expect, test } from 'vitest';
import { codeOf, forEveryKind } from './every-kind.ts';

// The history of every kind on every backend.
forEveryKind((kind, subject) => {
  const gone = (name: string) => expect.poll(() => codeOf(subject().typed.get(subject().key(name)))).toBe('NOT_FOUND');
  const labels = (step: string) => ({ labels: { suite: 'history', step } });

  if (kind.durability === 'relaxed') {
    test('it keeps no history, and says so', async () => {
      const { client, make, key, typed } = subject();
      const made = await make('told');
      await expect(client.objects.history(kind.kind, key('told'))).rejects.toMatchObject({
        code: 'UNIMPLEMENTED',
        message: `${kind.plural} keep no history: only the present ones can be read`,
      });
      await typed.delete(key('told'));
      const then = { resourceVersion: made.metadata?.resourceVersion, resourceVersionMatch: 'Exact' } as const;
      expect(await codeOf(typed.get({ ...key('told'), ...then }))).toBe('UNIMPLEMENTED');
      expect(await codeOf(typed.list(then))).toBe('UNIMPLEMENTED');
    });
    return;
  }

  test('its history tells its creation, its changes, its status and its end', async () => {
    const { client, make, key, typed, observation } = subject();
    const made = await make('told', labels('one'));
    const changed = await typed.patch(key('told'), { metadata: labels('two') }, { fieldManager: 'somebody' });
    if (kind.hasStatus) await typed.patch({ ...key('told'), subresource: 'status' }, { status: observation.status });
    await typed.delete(key('told'), { gracePeriodSeconds: 0 });
    await gone('told');
    const { revisions } = await client.objects.history(kind.kind, key('told'));
    expect(new Set(revisions.map(({ uid }) => uid))).toEqual(new Set([made.metadata?.uid]));
    const told = revisions.toReversed();
    expect(told[0]).toMatchObject({
      type: 'ADDED',
      verb: 'create',
      user: 'admin',
      resourceVersion: made.metadata?.resourceVersion,
    });
    expect(told[1]).toMatchObject({
      type: 'MODIFIED',
      verb: 'patch',
      manager: 'somebody',
      resourceVersion: changed.metadata?.resourceVersion,
      changes: [{ path: 'metadata.labels.step', operation: 'replace', before: '"one"', after: '"two"' }],
    });
    if (kind.hasStatus) {
      expect(told[2]).toMatchObject({ verb: 'patch-status' });
      expect(told[2]?.changes?.map(({ path }) => path)).toContain(observation.path);
    }
    expect(told.at(-1)).toMatchObject({ type: 'DELETED', verb: 'delete' });
  });

  test('it is read, alone and in lists, as it was at every version', async () => {
    const { client, make, key, typed, scope } = subject();
    const first = await make('then', labels('one'));
    const second = await typed.patch(key('then'), { metadata: labels('two') });
    await typed.delete(key('then'), { gracePeriodSeconds: 0 });
    await gone('then');
    for (const object of [first, second]) {
      const at = { resourceVersion: object.metadata?.resourceVersion, resourceVersionMatch: 'Exact' } as const;
      expect(await typed.get({ ...key('then'), ...at })).toEqual(object);
      const wanted = { ...scope('history'), fieldSelector: 'metadata.name=then', ...at };
      expect((await typed.list(wanted)).items).toEqual([object]);
      expect((await client.objects.listTable(kind.kind, wanted)).table.rows?.map(({ name }) => name)).toEqual(['then']);
    }
    const { resourceVersion } = await client.objects.findVersion({});
    expect(await codeOf(typed.get({ ...key('then'), resourceVersion, resourceVersionMatch: 'Exact' }))).toBe('NOT_FOUND');
  });
});
