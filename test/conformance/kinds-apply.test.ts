import { expect, test } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { codeOf, errorOf, forEveryKind, refusedFields } from './every-kind.ts';

forEveryKind((kind, subject) => {
  const apply = (name: string, metadata: JsonObject, fieldManager: string, more: { force?: boolean; dryRun?: string[] } = {}) =>
    subject().client.objects.apply(kind.kind, subject().json(name, metadata), { fieldManager, ...more });
  const noted = (value: string): JsonObject => ({ annotations: { note: value } });
  const managers = ({ metadata }: JsonObject): string[] =>
    ((metadata as JsonObject).managedFields as JsonObject[]).map(({ manager, operation }) => `${manager} ${operation}`);

  test('an apply makes an object that is missing, and the same apply changes nothing', async () => {
    const { client, key } = subject();
    const tried = await apply('applied', noted('1'), 'ada', { dryRun: ['All'] });
    expect(managers(tried)).toEqual(['ada Apply']);
    expect(await codeOf(client.objects.get(kind.kind, key('applied')))).toBe('NOT_FOUND');
    const made = await apply('applied', noted('1'), 'ada');
    expect(managers(made)).toEqual(['ada Apply']);
    expect(await apply('applied', noted('1'), 'ada')).toEqual(made);
    expect(await client.objects.get(kind.kind, key('applied'))).toEqual(made);
  });

  test('another value of a field is a conflict with its manager, which force resolves', async () => {
    const { client, key } = subject();
    const made = await apply('contested', noted('1'), 'ada');
    const refused = await errorOf(apply('contested', noted('2'), 'bob'));
    expect(refused).toMatchObject({
      code: 'ABORTED',
      message: 'Apply failed with 1 conflict: conflict with "ada": .metadata.annotations.note',
      violations: [{ field: 'metadata.annotations.note', description: 'conflict with "ada"', reason: 'FieldManagerConflict' }],
    });
    expect(await client.objects.get(kind.kind, key('contested'))).toEqual(made);
    const shared = await apply('contested', noted('1'), 'bob');
    expect(managers(shared)).toEqual(['ada Apply', 'bob Apply']);
    const forced = await apply('contested', noted('2'), 'bob', { force: true });
    expect(forced.metadata).toMatchObject({ annotations: { note: '2' } });
    expect(await codeOf(apply('contested', noted('1'), 'ada'))).toBe('ABORTED');
  });

  test('a field that no manager applies any more is removed, and what others own stays', async () => {
    const { typed, key } = subject();
    await apply('pruned', { annotations: { mine: '1', ours: '1' } }, 'ada');
    await apply('pruned', { annotations: { ours: '1' } }, 'bob');
    await typed.patch(key('pruned'), { metadata: { annotations: { theirs: '1' } } }, { fieldManager: 'eve' });
    const left = await apply('pruned', {}, 'ada');
    expect(left.metadata).toMatchObject({ annotations: { ours: '1', theirs: '1' } });
    expect((left.metadata as JsonObject).annotations).not.toHaveProperty('mine');
  });

  test('an apply without a manager, with entries, or without an apiVersion is refused', async () => {
    const { client, key, json } = subject();
    expect(await refusedFields(apply('refused', {}, ''))).toEqual(['fieldManager']);
    expect(await refusedFields(apply('refused', { managedFields: [{ manager: 'x' }] }, 'ada'))).toEqual([
      'metadata.managedFields',
    ]);
    const { apiVersion: _, ...bare } = json('refused');
    expect(await refusedFields(client.objects.apply(kind.kind, bare, { fieldManager: 'ada' }))).toEqual(['apiVersion']);
    expect(await codeOf(client.objects.get(kind.kind, key('refused')))).toBe('NOT_FOUND');
    expect(await codeOf(apply('refused', { resourceVersion: '1' }, 'ada'))).toBe('NOT_FOUND');
  });
});
