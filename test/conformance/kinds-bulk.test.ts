import { expect, test } from 'vitest';
import { fromJson } from '../../api/codec/json.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { BulkWrite } from '../../client/index.ts';
import { codeOf, forEveryKind } from './every-kind.ts';

forEveryKind((kind, subject) => {
  test('many writes go through one stream, each with its own result', async () => {
    const { client, typed, json, key } = subject();
    const results: string[] = [];
    const item = { kind: kind.kind } as const;
    const writes: BulkWrite[] = [
      { ...item, verb: 'create', object: json('bulk') },
      { ...item, verb: 'create', object: json('bulk') },
      { ...item, verb: 'create', object: { ...json('bulk-wrong'), nonsense: 1 } },
      { ...item, verb: 'patch', target: key('bulk'), patch: { metadata: { labels: { 'example.com/step': '1' } } } },
      { ...item, verb: 'update', object: json('bulk') },
      { ...item, verb: 'updateStatus', object: json('bulk') },
      { ...item, verb: 'delete', key: key('bulk') },
      { ...item, verb: 'delete', key: key('bulk-none') },
    ];
    for await (const { index, error } of client.objects.bulk(writes)) results[index] = error?.code ?? 'OK';
    const update = kind.updateNeedsVersion ? 'INVALID_ARGUMENT' : 'OK';
    const status = kind.hasStatus ? update : 'UNIMPLEMENTED';
    expect(results).toEqual(['OK', 'ALREADY_EXISTS', 'INVALID_ARGUMENT', 'OK', update, status, 'OK', 'NOT_FOUND']);
    await expect.poll(() => codeOf(typed.get(key('bulk')))).toBe('NOT_FOUND');
  });

  test('an update without a resourceVersion replaces the object, unless the kind needs one', async () => {
    const { client, json, key } = subject();
    const { objects } = client;
    const withoutVersion = () => objects.update(kind.kind, json('unversioned'));
    await expect(withoutVersion()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const made = await objects.create(kind.kind, json('unversioned'));
    if (kind.updateNeedsVersion) {
      const violations = [
        { field: 'metadata.resourceVersion', description: expect.stringContaining('must be specified for an update') },
      ];
      await expect(withoutVersion()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', violations });
    } else await withoutVersion();
    expect(await codeOf(objects.update(kind.kind, made))).toBe('OK');
    await objects.delete(kind.kind, key('unversioned'));
  });

  test('a writer answers as the typed client does', async () => {
    const { client, typed, json, key } = subject();
    const writer = client.bulkWriter();
    const writes = writer.resource(kind);
    const made = await writes.create(fromJson<ApiObject>(kind, json('bulk-typed')));
    expect(made).toEqual(await typed.get(key('bulk-typed')));
    const patched = await writes.patch(key('bulk-typed'), { metadata: { annotations: { 'example.com/a': '1' } } });
    expect(patched).toEqual(await typed.get(key('bulk-typed')));
    expect(await codeOf(writes.update(made))).toBe('ABORTED');
    await writes.delete(key('bulk-typed'));
    await writer.close();
    await expect.poll(() => codeOf(typed.get(key('bulk-typed')))).toBe('NOT_FOUND');
  });
});
