import { expect, it } from 'vitest';
import { checkFieldSupport, compileFieldSupport, type FieldSupportTable } from './field-support.ts';

const table: FieldSupportTable = {
  'spec.hostPID': { support: 'refused', why: 'it is not safe here' },
  'spec.containers[].livenessProbe': { support: 'warned', why: 'probes are not run' },
  'spec.affinity': { support: 'warned', why: 'it has no weight' },
  'spec.affinity.nodeAffinity': { support: 'works' },
  'spec.volumes[].csi': { support: 'refused', why: 'there is no driver' },
  'spec.nodeSelector': { support: 'warned', why: 'nobody looks' },
};
const compiled = compileFieldSupport('berth.core.v1.Pod', table);
const check = (spec: object) => checkFieldSupport(compiled, { spec });

it('says nothing of what works and of what is not set', () => {
  expect(
    check({ containers: [{ name: 'a', livenessProbe: undefined }], hostPID: false, affinity: { nodeAffinity: { x: 1 } } }),
  ).toEqual({ warnings: [], violations: [] });
});

it('warns once for a field, with its place, however much stands below it', () => {
  const probe = { handler: { exec: { command: ['a'] } }, periodSeconds: 5 };
  expect(check({ containers: [{}, { livenessProbe: probe }], nodeSelector: { a: 'b', c: 'd' } }).warnings).toEqual([
    'spec.containers[1].livenessProbe is not acted on: probes are not run',
    'spec.nodeSelector is not acted on: nobody looks',
  ]);
});

it('warns of a parent for those of its children that are not listed themselves', () => {
  expect(check({ affinity: { nodeAffinity: {}, podAffinity: { x: 1 } } }).warnings).toEqual([
    'spec.affinity is not acted on: it has no weight',
  ]);
});

it('warns of an empty message, because it is set', () => {
  expect(check({ affinity: {} }).warnings).toHaveLength(1);
});

it('refuses with a violation, also behind an inlined message that the path does not show', () => {
  expect(check({ hostPID: true, volumes: [{ name: 'v', volumeSource: { csi: { driver: 'x' } } }] }).violations).toMatchObject([
    { field: 'spec.hostPID', description: 'forbidden: it is not safe here', reason: 'FieldValueForbidden' },
    { field: 'spec.volumes[0].csi', description: 'forbidden: there is no driver', reason: 'FieldValueForbidden' },
  ]);
});

it.each(['spec.nothing', 'spec.containers.name', 'spec.hostPID[]', 'spec.volumes[].volumeSource'])(
  'does not accept a table with the path "%s"',
  (path) => {
    expect(() => compileFieldSupport('berth.core.v1.Pod', { [path]: { support: 'works' } })).toThrow('field support: no field');
  },
);
