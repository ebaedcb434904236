import { describe, expect, it } from 'vitest';
import type { ConfigMap, ManagedFieldsEntry } from '../../../api/generated/types.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import { clearsManagers, creatorEntry, recordFields, validateManagers } from './managed-fields.ts';

const kind = kindNamed('ConfigMap');
const at = (seconds: number) => ({ seconds });
const map = (data: Record<string, string>, labels?: Record<string, string>): ConfigMap => ({
  metadata: { name: 'a', ...(labels && { labels }) },
  data,
});

/** The entries in short: "manager[/subresource]@time=fields". */
const inShort = (entries: readonly ManagedFieldsEntry[]): string[] =>
  entries.map(({ manager, subresource, time, fieldsV1 }) => {
    const fields = fieldsV1 ? Buffer.from(fieldsV1.Raw ?? []).toString() : 'the rest';
    return `${manager}${subresource ? `/${subresource}` : ''}@${time?.seconds}=${fields}`;
  });

/** Objects as each writer left them, one after the other. */
function history(...versions: [writer: string, object: ConfigMap][]): readonly ManagedFieldsEntry[] {
  const [first, ...others] = versions;
  let previous = first![1];
  let entries: readonly ManagedFieldsEntry[] = [creatorEntry(kind, first![0], at(1))];
  others.forEach(([writer, next], i) => {
    const [manager = '', subresource = ''] = writer.split('/');
    const time = at(i + 2);
    entries = recordFields(kind, entries, { previous, next }, { manager, subresource: subresource as '' | 'status', time });
    previous = next;
  });
  return entries;
}

describe('who wrote what', () => {
  it('is the creator, of everything, without a list', () => {
    expect(inShort(history(['me', map({ a: '1' })]))).toEqual(['me@1=the rest']);
  });

  it('names what another has changed or added', () => {
    const entries = history(['me', map({ a: '1', b: '1' })], ['you', map({ a: '2', b: '1', c: '1' }, { l: 'x' })]);
    expect(inShort(entries)).toEqual([
      'me@1=the rest',
      'you@2={"f:metadata":{"f:labels":{".":{},"f:l":{}}},"f:data":{"f:a":{},"f:c":{}}}',
    ]);
  });

  it('is the last writer alone, also when the creator takes a field back', () => {
    const taken = history(['me', map({ a: '1' })], ['you', map({ a: '2' })], ['they', map({ a: '3', b: '1' })]);
    expect(inShort(taken)).toEqual(['me@1=the rest', 'they@3={"f:data":{"f:a":{},"f:b":{}}}']);
    const back = history(['me', map({ a: '1' })], ['you', map({ a: '2' })], ['me', map({ a: '3' })]);
    expect(inShort(back)).toEqual(['me@3=the rest']);
  });

  it('is no manager where a field is gone', () => {
    const entries = history(['me', map({ a: '1' })], ['you', map({ a: '1', b: '1', c: '1' })], ['they', map({ a: '1', b: '1' })]);
    expect(inShort(entries)).toEqual(['me@1=the rest', 'you@2={"f:data":{"f:b":{}}}']);
  });

  it('adds to the entry that the same manager has for the same subresource', () => {
    const entries = history(
      ['me', map({})],
      ['you', map({ a: '1' })],
      ['you/status', map({ a: '1', b: '1' })],
      ['you', map({ a: '1', b: '1', c: '1' })],
    );
    expect(inShort(entries)).toEqual([
      'me@1=the rest',
      'you/status@3={"f:data":{"f:b":{}}}',
      'you@4={"f:data":{".":{},"f:a":{},"f:c":{}}}',
    ]);
  });

  it('changes nothing when nothing changed that a manager could own', () => {
    const before = history(['me', map({ a: '1' })], ['you', map({ a: '2' })]);
    const versions = { previous: map({ a: '2' }), next: { ...map({ a: '2' }), metadata: { name: 'a', generation: 7 } } };
    expect(recordFields(kind, before, versions, { manager: 'x', subresource: '', time: at(9) })).toBe(before);
  });

  it('counts the older of many managers together', () => {
    const data: Record<string, string> = {};
    const versions = Array.from({ length: 15 }, (_, i): [string, ConfigMap] => {
      data[`k${i}`] = '1';
      return [`m${i}`, map({ ...data })];
    });
    const entries = history(['me', map({ x: '1' })], ...versions);
    expect(entries.map(({ manager }) => manager)).toEqual([
      'me',
      'ancient-changes',
      ...Array.from({ length: 9 }, (_, i) => `m${i + 6}`),
    ]);
    const older = JSON.parse(String(entries[1]?.fieldsV1?.Raw));
    expect(Object.keys(older['f:data'])).toEqual(Array.from({ length: 6 }, (_, i) => `f:k${i}`));
  });

  it('names a very large set less finely, so that notes never outgrow what they are about', () => {
    const data = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`a-rather-long-key-${i}`, 'v']));
    const entries = history(['me', map({})], ['you', map(data)]);
    expect(inShort(entries)).toEqual(['me@1=the rest', 'you@2={"f:data":{}}']);
  });

  it('goes on from entries that cannot be read as if they named nothing', () => {
    const damaged: ManagedFieldsEntry = { manager: 'x', operation: 'Update', time: at(1), fieldsV1: { Raw: Buffer.from('{') } };
    const writer = { manager: 'you', subresource: '', time: at(2) } as const;
    expect(inShort(recordFields(kind, [damaged], { previous: map({}), next: map({ a: '1' }) }, writer))).toEqual([
      'you@2={"f:data":{".":{},"f:a":{}}}',
    ]);
  });
});

it('one empty entry asks for the entries to be cleared, an empty list or a filled one does not', () => {
  expect(clearsManagers({ managedFields: [{}] })).toBe(true);
  expect(clearsManagers({ managedFields: [] })).toBe(false);
  expect(clearsManagers({})).toBe(false);
  expect(clearsManagers({ managedFields: [{ manager: 'me' }] })).toBe(false);
});

describe('what a client writes', () => {
  const entry = (fields: object): ManagedFieldsEntry => ({
    ...{ manager: 'm', operation: 'Update', fieldsType: 'FieldsV1' },
    fieldsV1: { Raw: Buffer.from(JSON.stringify(fields)) },
  });
  const many = (count: number, fields: object = { 'f:data': {} }) => ({
    managedFields: Array.from({ length: count }, () => entry(fields)),
  });

  it('has at most 100 entries, and 512 KiB of fields', () => {
    expect(validateManagers(many(100), {})).toEqual([]);
    expect(validateManagers(many(101), {})).toMatchObject([{ field: 'metadata.managedFields', reason: 'FieldValueTooMany' }]);
    const large = { 'f:data': Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`f:k${i}`, {}])) };
    expect(validateManagers(many(2, large), {})).toEqual([]);
    expect(validateManagers(many(10, large), {})).toMatchObject([{ description: expect.stringContaining('524288 bytes') }]);
  });
});
