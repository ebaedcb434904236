import fc from 'fast-check';
import protobuf, { type Type } from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { randomMessage } from '../../test/fakes/random-message.ts';
import { messageType } from '../codec/descriptors.ts';
import { fromJson, toJson } from '../codec/json.ts';
import { decodeMessage, encodeMessage } from '../codec/message.ts';
import type { ApiObject, Kind } from './kind.ts';
import { olderVersions } from './versions.ts';

// Any object, whatever it says: what a stored one becomes in another version is read there, and becomes what it was.

const overProtobuf = (kind: Kind, object: object): ApiObject =>
  decodeMessage<ApiObject>(kind.message, encodeMessage(kind.message, object));
const overJson = (kind: Kind, object: object): ApiObject =>
  fromJson<ApiObject>(kind, JSON.parse(JSON.stringify(toJson(kind, object))));

describe.each(olderVersions.map((version) => [`${version.apiVersion} ${version.kind}`, version] as const))('%s', (_, version) => {
  const { stored, toStored, fromStored } = version.conversion!;
  const type = messageType(stored.message);

  it.each([
    ['JSON', overJson],
    ['protobuf', overProtobuf],
  ])(
    'gives any stored object back as it was, over %s',
    (_form, carried) => {
      const property = fc.property(randomMessage(type, 6), (message) => {
        // Every stored object has metadata, and what came as JSON has times of whole seconds: Kubernetes, too, keeps no
        // more in the annotations of autoscaling/v1.
        const before = overJson(stored, overProtobuf(stored, withQuantities(type, { metadata: {}, ...message })));
        const sent = carried(version, fromStored(before));
        const bytes = (object: object) => encodeMessage(stored.message, object).toString('hex');
        expect(bytes(carried(stored, toStored(sent)))).toBe(bytes(before));
      });
      fc.assert(property, { numRuns: 15, seed: 18 });
    },
    30_000,
  );
});

/** The same message with texts that are quantities where it has one. */
function withQuantities(type: Type, message: object): object {
  if (type.fullName.endsWith('.Quantity')) return { string: ['0', '100m', '2Gi'][JSON.stringify(message).length % 3] };
  const entries = Object.entries(message).map(([name, value]): [string, unknown] => {
    const { resolvedType, repeated, map } = type.fields[name]!.resolve();
    if (!(resolvedType instanceof protobuf.Type)) return [name, value];
    const inner = (each: object): object => withQuantities(resolvedType, each);
    if (repeated) return [name, value.map(inner)];
    return [
      name,
      map ? Object.fromEntries(Object.entries<object>(value).map(([key, each]) => [key, inner(each)])) : inner(value),
    ];
  });
  return Object.fromEntries(entries);
}
