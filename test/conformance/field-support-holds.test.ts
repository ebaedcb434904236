import type protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { readObject } from '../../api/codec/json.ts';
import { jsonFields, messageBelow } from '../../api/codec/json-fields.ts';
import type { FieldSupport } from '../../api/kinds/field-support.ts';
import { kinds } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { root } from './proto-descriptors.ts';

// What the table of a kind promises is what its validation and its warnings do, entry by entry.

/** The fields on the way to a path of a table. */
function stepsTo(message: string, path: string): protobuf.Field[] {
  let type: protobuf.Type | undefined = root.lookupType(message);
  return path.split('.').map((step) => {
    const field = type && jsonFields(type).find(({ name }) => name === step.replace(/\[\]$/, ''));
    if (!field) throw new Error(`${message} has no ${path}`);
    type = messageBelow(field);
    return field;
  });
}

const samples: Readonly<Record<string, unknown>> = {
  bytes: 'eHg=',
  'google.protobuf.Timestamp': '2026-01-01T00:00:00Z',
  'google.protobuf.Duration': '1s',
  'berth.meta.v1.Quantity': '1',
  'berth.meta.v1.IntOrString': 1,
};

/** A value of the field's type that asks for something. */
function sampleOf(field: protobuf.Field, support: FieldSupport): unknown {
  const nothing = (support.support === 'works' ? undefined : support.unless) ?? [false, ''];
  const single = (): unknown => {
    if (messageBelow(field)) return besideOf(field) ?? {};
    if (field.type === 'bool') return !nothing.includes(true);
    if (field.type === 'string') return 'something';
    if (field.type.startsWith('int')) return nothing.includes(1) ? 2 : 1;
    return samples[typeOf(field)] ?? {};
  };
  if (field.map && typeOf(field).endsWith('.ExtraValue')) return { key: ['1'] };
  if (field.map) return { key: field.type === 'string' || field.type === 'bytes' ? 'eHg=' : '1' };
  return field.repeated ? [single()] : single();
}

const typeOf = (field: protobuf.Field): string => field.resolvedType?.fullName.slice(1) ?? field.type;

/** What the kind says of an object in which this one field is set: where it refuses, and what it warns about. */
function saidOf(kind: Kind, path: string, support: FieldSupport): { refused: string[]; warned: string[] } {
  const steps = stepsTo(kind.message, path);
  const value = steps
    .toReversed()
    .reduce<unknown>(
      (inner, field, at) => (at === 0 ? { [field.name]: sampleOf(field, support) } : nest(field, inner)),
      undefined,
    );
  const { value: object, violations } = readObject<ApiObject>(kind, value);
  expect(violations, path).toEqual([]);
  const plain = (text: string): string => text.replace(/\[\d+\]/g, '[]');
  // What is refused in new objects alone counts for entries that refuse; other fields may depend on the verb.
  const ofNew = support.support === 'refused' ? (kind.validateCreate?.(object) ?? []) : [];
  const refusals = [...kind.validate(object), ...ofNew].filter(({ reason }) => reason === 'FieldValueForbidden');
  return {
    refused: refusals.map(({ field }) => plain(field)),
    warned: (kind.warnings?.(object) ?? []).map((warning) => plain(warning.split(' is not acted on')[0] ?? '')),
  };
}

/** What an object must say besides, for anything that only some of its kind may have. */
const beside: Readonly<Record<string, object>> = {
  initContainers: { restartPolicy: 'Always' },
  conversion: { strategy: 'Webhook' },
  imagePullSecrets: { name: 'token' },
  volumeMounts: { readOnly: true },
};

/** The same, by what the message is. */
const besideOfType: Readonly<Record<string, object>> = {
  PodAffinityTerm: { labelSelector: {} },
  WeightedPodAffinityTerm: { podAffinityTerm: { labelSelector: {} } },
  TopologySpreadConstraint: { labelSelector: {} },
};

const besideOf = (field: protobuf.Field): object | undefined =>
  beside[field.name] ?? besideOfType[typeOf(field).split('.').at(-1) ?? ''];

function nest(field: protobuf.Field, inner: unknown): unknown {
  const other = besideOf(field);
  const whole = other === undefined ? inner : { ...other, ...(inner as object) };
  return { [field.name]: field.repeated ? [whole] : whole };
}

describe.each(kinds.map((kind) => [kind.kind, kind] as const))('the field table of %s', (_name, kind) => {
  const entries = Object.entries(kind.fields);
  const paths = (support: FieldSupport['support']) => entries.filter(([, entry]) => entry.support === support);

  it('refuses what it says is refused', () => {
    for (const [path, support] of paths('refused')) expect(saidOf(kind, path, support).refused, path).toContain(path);
  });

  it('warns of what it says is warned about, by its path, and accepts it', () => {
    for (const [path, support] of paths('warned')) {
      const { warned, refused } = saidOf(kind, path, support);
      expect(warned, path).toContain(path);
      expect(refused, path).not.toContain(path);
    }
  });

  it('neither refuses nor warns of what it says works', () => {
    for (const [path, support] of paths('works')) expect(saidOf(kind, path, support), path).toEqual({ refused: [], warned: [] });
  });
});
