import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { checkFieldSupport, compileFieldSupport, type FieldSupportTable, refused } from '../../api/kinds/field-support.ts';
import { kinds } from '../../api/kinds/index.ts';
import { podFields } from '../../api/kinds/pod/fields.ts';
import { jsonFields, root } from './proto-descriptors.ts';

/** Messages that are one value in JSON. */
const values = ['Timestamp', 'Quantity', 'IntOrString', 'FieldsV1', 'RawExtension'];

interface Paths {
  readonly all: string[];
  readonly leaves: string[];
}

/** Every path below a message as the JSON form has it: "spec.containers[].image". A map is one field. */
function pathsOf(message: protobuf.Type, prefix = ''): Paths {
  const parts = jsonFields(message).map((field): Paths => {
    const path = `${prefix}${field.name}${field.repeated ? '[]' : ''}`;
    const below = field.map || values.includes(field.resolvedType?.name ?? '') ? null : field.resolvedType;
    if (!(below instanceof protobuf.Type) || below.fieldsArray.length === 0) return { all: [path], leaves: [path] };
    const { all, leaves } = pathsOf(below, `${path}.`);
    return { all: [path, ...all], leaves };
  });
  return { all: parts.flatMap((part) => part.all), leaves: parts.flatMap((part) => part.leaves) };
}

/** The path itself and everything above it. */
const ancestors = (path: string): string[] => path.split('.').map((_, index, steps) => steps.slice(0, index + 1).join('.'));

const tables = kinds.map(({ kind, fields, message }): [string, FieldSupportTable, Paths] => [
  kind,
  fields,
  pathsOf(root.lookupType(message)),
]);

describe.each(tables)('the table of the fields of %s', (_kind, table, { all, leaves }) => {
  it('says of every field once whether it works, warns or is refused', () => {
    const entries = (path: string) => ancestors(path).filter((above) => above in table).length;
    expect(leaves.filter((path) => entries(path) !== 1)).toEqual([]);
  });

  it('names no field that does not exist', () => {
    expect(Object.keys(table).filter((path) => !all.includes(path))).toEqual([]);
  });

  it('says nothing below what it has already decided', () => {
    expect(
      Object.keys(table).filter((path) =>
        ancestors(path)
          .slice(0, -1)
          .some((above) => above in table),
      ),
    ).toEqual([]);
  });

  it('gives a reason for each field that does not work', () => {
    const reasons = Object.values(table).flatMap((entry) => (entry.support === 'works' ? [] : [entry.why]));
    expect(reasons.length).toBeGreaterThan(0);
    expect(reasons.filter((why) => why.length < 20 || why.endsWith('.') || why !== why.trim())).toEqual([]);
  });
});

it('refuses what would change safety or data if it were passed over', () => {
  const refused = ['spec.resourceClaims[]', 'spec.volumes[].projected.sources[].podCertificate', 'spec.volumes[].ephemeral'];
  expect(refused.map((path) => podFields[path]?.support)).toEqual(['refused', 'refused', 'refused']);
});

describe('values that ask for nothing', () => {
  const pod = compileFieldSupport('berth.core.v1.Pod', podFields);
  const container = (securityContext: object) => ({ spec: { containers: [{ name: 'a', image: 'b', securityContext }] } });

  it('passes over what the defaults would have said', () => {
    const spec = {
      dnsPolicy: 'ClusterFirst',
      enableServiceLinks: true,
      priority: 0,
      serviceAccountName: 'default',
      securityContext: {},
    };
    expect(checkFieldSupport(pod, { spec })).toEqual({ warnings: [], violations: [] });
  });

  it('refuses a false that asks for something, and a value beside the one that asks for nothing', () => {
    const strict = compileFieldSupport('berth.core.v1.Pod', {
      'spec.containers[].securityContext.allowPrivilegeEscalation': refused('false would be ignored', true),
      'spec.containers[].securityContext.seccompProfile.type': refused('there is one profile', '', 'RuntimeDefault'),
      'spec.hostUsers': refused('false would be ignored', true),
    });
    const refusals = (object: object) => checkFieldSupport(strict, object).violations.map(({ field }) => field);
    expect(refusals(container({ allowPrivilegeEscalation: false }))).toEqual([
      'spec.containers[0].securityContext.allowPrivilegeEscalation',
    ]);
    expect(refusals(container({ allowPrivilegeEscalation: true }))).toEqual([]);
    expect(refusals({ spec: { hostUsers: false } })).toHaveLength(1);
    expect(refusals(container({ seccompProfile: { type: 'RuntimeDefault' } }))).toEqual([]);
    expect(refusals(container({ seccompProfile: { type: 'Localhost' } }))).toHaveLength(1);
  });
});
