import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import protobuf, { type Type } from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { randomField, randomMessage, texts } from '../../test/fakes/random-message.ts';
import { kinds } from '../kinds/index.ts';
import { messageType } from './descriptors.ts';
import { toJson } from './json.ts';
import { jsonBytes, writeJson } from './json-bytes.ts';
import { JsonMemory } from './json-memory.ts';
import { JsonOutput } from './json-output.ts';
import { decodeMessage, encodeMessage } from './message.ts';

interface Named {
  readonly kind: string;
  readonly apiVersion: string;
  readonly message: string;
}

/** Each alone, and behind what an output holds already. */
function parsed(kind: Named, bytes: Buffer, bare = false): unknown {
  const out = new JsonOutput(16);
  out.ascii('[0,');
  writeJson(kind, bytes, out, bare);
  expect(isUtf8(out.copy())).toBe(true);
  expect(out.copy().includes('\n')).toBe(false);
  const [, behind] = JSON.parse(`${out.copy()}]`) as unknown[];
  if (!bare) expect(JSON.parse(jsonBytes(kind, bytes).toString())).toEqual(behind);
  return behind;
}

const pod = { kind: 'Pod', apiVersion: 'v1', message: 'berth.core.v1.Pod' };

describe('the JSON of an encoded object', () => {
  it.each(kinds.map((kind) => [kind.kind, kind] as const))('is the one that its decoded form has: %s', (_, kind) => {
    const property = fc.property(randomMessage(messageType(kind.message), 5), (message) => {
      const bytes = encodeMessage(kind.message, message);
      const expected = JSON.parse(JSON.stringify(toJson(kind, decodeMessage(kind.message, bytes))));
      expect(parsed(kind, bytes)).toEqual(expected);
      const { apiVersion: _version, kind: _kind, ...bare } = expected;
      expect(parsed(kind, bytes, true)).toEqual(bare);
    });
    fc.assert(property, { numRuns: 12, seed: 12 });
  });

  it('of each field alone is the one that its decoded form has', () => {
    const types = new Set<Type>();
    const gather = (type: Type): void => {
      if (types.has(type)) return;
      types.add(type);
      for (const field of type.fieldsArray)
        if (field.resolve().resolvedType instanceof protobuf.Type) gather(field.resolvedType as Type);
    };
    for (const kind of kinds) gather(messageType(kind.message));
    let fields = 0;
    for (const type of types) {
      const named = { kind: 'Any', apiVersion: 'v1', message: type.fullName.slice(1) };
      if (
        type.fullName.startsWith('.google.') ||
        /\.(Quantity|IntOrString|FieldsV1|RawExtension|ExtraValue)$/.test(type.fullName)
      )
        continue;
      if (named.message.endsWith('.CustomObject')) continue;
      for (const field of type.fieldsArray) {
        fields++;
        const property = fc.property(randomField(field, 2), (value) => {
          const bytes = encodeMessage(named.message, { [field.name]: value });
          expect(parsed(named, bytes), `${type.fullName}.${field.name}`).toEqual(
            JSON.parse(JSON.stringify(toJson(named, decodeMessage(named.message, bytes)))),
          );
        });
        fc.assert(property, { numRuns: 4, seed: 12 });
      }
    }
    expect(fields).toBeGreaterThan(1_000);
  });

  it('of many objects is the same for an output that remembers what it was written', () => {
    const type = messageType(pod.message);
    const objects = fc
      .array(randomMessage(type, 5), { minLength: 1, maxLength: 3 })
      .chain((templates) =>
        fc.array(fc.record({ template: fc.constantFrom(...templates), name: texts, rewinds: fc.boolean() }), { maxLength: 12 }),
      );
    const property = fc.property(objects, (list) => {
      const [plain, remembering] = [new JsonOutput(16), new JsonOutput(16, new JsonMemory())];
      for (const { template, name, rewinds } of list) {
        const { metadata } = template as { metadata?: object };
        const bytes = encodeMessage(pod.message, { ...template, metadata: { ...metadata, name } });
        if (rewinds) for (const out of [plain, remembering]) out.rewind(0);
        for (const out of [plain, remembering]) writeJson(pod, bytes, out);
        expect(remembering.copy().equals(plain.copy())).toBe(true);
      }
    });
    fc.assert(property, { numRuns: 60, seed: 12 });
  });

  it('of an object of a kind that users added has the members of its document', () => {
    const kind = { kind: 'Toy', apiVersion: 'toys.example.com/v1', message: 'berth.apiextensions.v1.CustomObject' };
    for (const object of [{ metadata: { name: 'a' }, spec: { x: [1] } }, { metadata: { name: 'a' } }, { spec: {} }, {}]) {
      const bytes = encodeMessage(kind.message, object);
      expect(parsed(kind, bytes)).toEqual({ ...object, kind: 'Toy', apiVersion: 'toys.example.com/v1' });
    }
  });

  it('of bytes in which a message comes in two parts is that of the whole', () => {
    const parts = [{ metadata: { name: 'a' } }, { metadata: { namespace: 'b' } }].map((each) => encodeMessage(pod.message, each));
    expect(parsed(pod, Buffer.concat(parts))).toMatchObject({ metadata: { name: 'a', namespace: 'b' } });
  });

  it('has the fields of bytes in any order, and leaves out fields that are not known', () => {
    const [status, metadata] = [{ status: { phase: 'Running' } }, { metadata: { name: 'a' } }].map((each) =>
      encodeMessage(pod.message, each),
    );
    const unknown = Buffer.from([0xfa, 0x3f, 1, 0x41]);
    expect(parsed(pod, Buffer.concat([status!, unknown, metadata!]))).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a' },
      status: { phase: 'Running' },
    });
  });

  it('of an object that is larger than what the output holds is whole, and the next one as well', () => {
    const annotations = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`key-${i}`, `"${'x'.repeat(i % 500)}\n`]));
    const large = encodeMessage(pod.message, { metadata: { annotations } });
    expect(parsed(pod, large)).toEqual({ apiVersion: 'v1', kind: 'Pod', metadata: { annotations } });
    expect(parsed(pod, encodeMessage(pod.message, {}))).toEqual({ apiVersion: 'v1', kind: 'Pod' });
  });
});
