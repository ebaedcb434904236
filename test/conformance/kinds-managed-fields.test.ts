import { expect, test } from 'vitest';
import { fromJson } from '../../api/codec/json.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { codeOf, forEveryKind, refusedFields } from './every-kind.ts';

/** The entries in short: "manager[/subresource] fields". */
function entriesOf({ metadata }: ApiObject): string[] {
  return (metadata?.managedFields ?? []).map(({ manager, subresource, fieldsV1 }) => {
    const fields = fieldsV1 ? Buffer.from(fieldsV1.Raw ?? []).toString() : 'the rest';
    return `${manager}${subresource ? `/${subresource}` : ''} ${fields}`;
  });
}

const label = (key: string, value: string | null = '1'): JsonObject => ({ metadata: { labels: { [key]: value } } });
const as = (fieldManager: string) => ({ fieldManager });

forEveryKind((kind, subject) => {
  const records = kind.durability === 'synced';

  test('a new object has the entry of its creator, for all that no other entry names', async () => {
    const { typed, json } = subject();
    const made = await typed.create(fromJson<ApiObject>(kind, json('born')), as('maker'));
    expect(entriesOf(made)).toEqual(records ? ['maker the rest'] : []);
    if (!records) return;
    expect(made.metadata?.managedFields?.[0]).toEqual({
      manager: 'maker',
      operation: 'Update',
      apiVersion: kind.apiVersion,
      time: made.metadata?.creationTimestamp,
      fieldsType: 'FieldsV1',
    });
  });

  test('who changes fields has them from then on, by the name that it gives or that of its program', async () => {
    const { make, typed, key } = subject();
    const made = await make('owned');
    await typed.patch(key('owned'), label('a'), as('one'));
    await typed.patch(key('owned'), label('b'), as('one'));
    const taken = await typed.patch(key('owned'), label('a', '2'), as('two'));
    if (!records) return expect(taken.metadata).not.toHaveProperty('managedFields');
    expect(entriesOf(taken)).toEqual([
      'berth the rest',
      'one {"f:metadata":{"f:labels":{"f:b":{}}}}',
      'two {"f:metadata":{"f:labels":{"f:a":{}}}}',
    ]);
    const gone = await typed.patch(key('owned'), label('b', null), as('two'));
    expect(entriesOf(gone)).toEqual(['berth the rest', 'two {"f:metadata":{"f:labels":{"f:a":{}}}}']);
    const back = await typed.update({ ...gone, metadata: { ...gone.metadata, labels: made.metadata?.labels ?? {} } });
    expect(entriesOf(back)).toEqual(['berth the rest']);
  });

  test('the status has entries of its own', async () => {
    const { make, typed, key, observation } = subject();
    await make('seen');
    if (!kind.hasStatus || !records) return expect(kind.hasStatus && records).toBe(false);
    await typed.patch(key('seen'), label('a'), as('one'));
    const seen = { status: observation.status };
    const status = await typed.patch({ ...key('seen'), subresource: 'status' }, seen, as('one'));
    const [, object, own] = entriesOf(status);
    expect(object).toBe('one {"f:metadata":{"f:labels":{"f:a":{}}}}');
    expect(own).toContain(`one/status {"f:status":{"f:${observation.field}":`);
    const again = await typed.patch({ ...key('seen'), subresource: 'status' }, seen, as('two'));
    expect(again).toEqual(status);
  });

  test('a client that sends the entries back, emptied or not at all, changes nothing', async () => {
    const { make, typed, key } = subject();
    await make('sent');
    const made = await typed.patch(key('sent'), label('a'), as('one'));
    const { managedFields: _, ...bare } = made.metadata!;
    for (const metadata of [bare, { ...bare, managedFields: [] }, made.metadata!])
      expect(await typed.update({ ...made, metadata })).toEqual(made);
    expect(await typed.patch(key('sent'), { metadata: { managedFields: null } })).toEqual(made);
  });

  test('a client that writes the entries moves fields to another manager, if they are well formed', async () => {
    const { make, client, key } = subject();
    await make('moved');
    const fieldsV1 = { 'f:metadata': { 'f:labels': { 'f:suite': {} } } };
    const entry = { manager: 'mover', operation: 'Apply', apiVersion: kind.apiVersion, fieldsType: 'FieldsV1', fieldsV1 };
    const write = (...managedFields: JsonObject[]) =>
      client.objects.patch(kind.kind, key('moved'), { metadata: { managedFields } }, as('mover'));
    expect((await write(entry)).metadata).toMatchObject({ managedFields: [entry] });
    expect(await refusedFields(write({ manager: 'liar', operation: 'Own', fieldsType: 'V2' }))).toEqual([
      'metadata.managedFields[0].operation',
      'metadata.managedFields[0].fieldsType',
    ]);
    expect(await refusedFields(write(entry, { ...entry, fieldsV1: { 'k:broken': {} } }))).toEqual([
      'metadata.managedFields[1].fieldsV1',
    ]);
  });

  test('one empty entry clears them', async () => {
    const { make, typed, key } = subject();
    await make('cleared');
    await typed.patch(key('cleared'), label('a'), as('one'));
    const cleared = await typed.patch(key('cleared'), { metadata: { managedFields: [{}] } });
    expect(cleared.metadata).not.toHaveProperty('managedFields');
    expect((await typed.get(key('cleared'))).metadata).not.toHaveProperty('managedFields');
    const next = await typed.patch(key('cleared'), label('b'), as('two'));
    expect(entriesOf(next)).toEqual(records ? ['two {"f:metadata":{"f:labels":{"f:b":{}}}}'] : []);
  });

  test('a manager has a name of at most 128 printable characters', async () => {
    const { make, typed, client, json, key } = subject();
    await make('named');
    for (const name of ['x'.repeat(129), 'a\nb', 'a\u0000']) {
      expect(await refusedFields(client.objects.create(kind.kind, json('other'), as(name)))).toEqual(['fieldManager']);
      expect(await refusedFields(client.objects.patch(kind.kind, key('named'), label('a'), as(name)))).toEqual(['fieldManager']);
    }
    expect(await codeOf(typed.patch(key('named'), label('a'), as('x'.repeat(128))))).toBe('OK');
  });
});
