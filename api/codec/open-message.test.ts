import { describe, expect, it } from 'vitest';
import { countElements, countJsonElements } from './elements.ts';
import { fieldChanges } from './field-changes.ts';
import { fromJson, toJson } from './json.ts';
import { decodeForeign, decodeMessage, encodeMessage } from './message.ts';
import { countJsonValues, openMessage } from './open-message.ts';
import { field } from './wire-format.ts';

/** The number of the field with all but the metadata. */
const CONTENT = 2;

const kind = { kind: 'Toy', apiVersion: 'toys.example.com/v1', message: openMessage };
const json = {
  apiVersion: 'toys.example.com/v1',
  kind: 'Toy',
  metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z', labels: { b: 'c' } },
  spec: { list: [1, { x: null }, 'a,b'], 'odd key': true },
  data: 'text',
};

describe('an object of a kind that users added', () => {
  it('is the same after JSON, memory and bytes', () => {
    const object = fromJson<{ spec: unknown }>(kind, json);
    expect(object).toMatchObject({ metadata: { creationTimestamp: { seconds: 1767225600 } }, spec: json.spec, data: 'text' });
    const bytes = encodeMessage(openMessage, object);
    expect(decodeMessage(openMessage, bytes)).toEqual(object);
    expect(toJson(kind, decodeMessage(openMessage, bytes))).toEqual(json);
  });

  it.each([
    ['is no JSON', '{'],
    ['is a list', '[]'],
    ['has metadata', '{"metadata":{}}'],
    ['is nested too deeply', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`],
  ])('is refused when its content %s', (_title, content) => {
    expect(() => decodeForeign(openMessage, field(CONTENT, Buffer.from(content)))).toThrow();
  });

  it('is refused before it is parsed when its content only nests', () => {
    const bytes = field(CONTENT, Buffer.from('['.repeat(100_000)));
    expect(() => decodeForeign(openMessage, bytes)).toThrow('levels deep');
  });

  it('counts its values, which commas in texts do not add to', () => {
    expect(countJsonValues(Buffer.from('{"a":[1,2,3],"b":"x,y\\",z"}'))).toBe(5);
    const many = { metadata: { name: 'a' }, list: Array(1_000).fill({}) };
    expect(countElements(openMessage, encodeMessage(openMessage, many))).toBeGreaterThan(1_000);
    expect(countJsonElements(openMessage, many)).toBeGreaterThan(1_000);
  });

  it('changes field by field, a list as a whole', () => {
    const before = { metadata: { name: 'a' }, spec: { a: 1, b: [1], c: { d: 1 } } };
    const after = { metadata: { name: 'a', labels: { x: 'y' } }, spec: { a: 1, b: [2], e: 1 } };
    expect(fieldChanges(openMessage, before, after)).toEqual({
      changed: { 'f:metadata': { 'f:labels': { '.': {}, 'f:x': {} } }, 'f:spec': { 'f:b': {}, 'f:e': {} } },
      removed: { 'f:spec': { 'f:c': { '.': {}, 'f:d': {} } } },
    });
  });
});
