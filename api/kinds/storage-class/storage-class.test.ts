import { describe, expect, it } from 'vitest';
import { node, storageClass, volume } from '../../../test/builders/index.ts';
import type { StorageClass } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';
import { compileTopologies } from '../volume-matching.ts';
import { localPathClass, nodeOfVolume } from './local-path.ts';

const kind = kindNamed('StorageClass');
const made = (more: StorageClass = {}): StorageClass => {
  const object: StorageClass = { metadata: { name: 'fast' }, provisioner: 'example.com/disks', ...more };
  kind.defaults(object);
  return object;
};
const zone = (...values: string[]) => ({ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values }] });

describe('a storage class', () => {
  it('deletes volumes after their claims and binds at once, unless it says otherwise', () => {
    expect(made()).toMatchObject({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
    expect(kindOf('sc')).toBe(kind);
  });

  it.each<[string, StorageClass, string[]]>([
    ['without a provisioner', made({ provisioner: '' }), ['provisioner']],
    ['with a provisioner that is no name', made({ provisioner: 'a b' }), ['provisioner']],
    ['with capitals in the name of its provisioner', made({ provisioner: 'Example.com/Disks' }), []],
    ['that recycles', made({ reclaimPolicy: 'Recycle' }), ['reclaimPolicy']],
    ['that binds never', made({ volumeBindingMode: 'Never' }), ['volumeBindingMode']],
    ['with a parameter without a name', made({ parameters: { '': 'x' } }), ['parameters']],
    [
      'with too many parameters',
      made({ parameters: Object.fromEntries([...Array(513).keys()].map((i) => [i, ''])) }),
      ['parameters'],
    ],
    ['with parameters that are too long', made({ parameters: { a: 'x'.repeat(256 * 1024) } }), ['parameters']],
    ['with options of mount', made({ mountOptions: ['ro'] }), ['mountOptions[0]']],
    ['for some zones', made({ allowedTopologies: [zone('a', 'b')] }), []],
    [
      'for a label without values',
      made({ allowedTopologies: [zone()] }),
      ['allowedTopologies[0].matchLabelExpressions[0].values'],
    ],
    [
      'for a zone twice',
      made({ allowedTopologies: [zone('a', 'a')] }),
      ['allowedTopologies[0].matchLabelExpressions[0].values[1]'],
    ],
    ['with a term twice', made({ allowedTopologies: [zone('a'), zone('a')] }), ['allowedTopologies[1].matchLabelExpressions']],
    ['that is made at the first start', structuredClone(localPathClass), []],
  ])('is judged: %s', (_title, object, fields) => {
    expect(kind.validate(object).map(({ field }) => field)).toEqual(fields);
  });

  it('stays as it was where volumes hang on it', () => {
    const next = made({
      provisioner: 'a.b/c',
      parameters: { a: 'b' },
      reclaimPolicy: 'Retain',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    const fields = kind.validateUpdate(next, made()).map(({ field }) => field);
    expect(fields).toEqual(['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode']);
    expect(kind.validateUpdate(made({ allowedTopologies: [zone('a')] }), made())).toEqual([]);
  });

  it('shows what kubectl shows', () => {
    const cells = kind.columns.map(({ name, cell }) => [name, cell(storageClass('usual').byDefault().build(), new Date())]);
    expect(cells.filter(([name]) => name !== 'AGE')).toEqual([
      ['NAME', 'usual (default)'],
      ['PROVISIONER', 'kubernetes.io/no-provisioner'],
      ['RECLAIMPOLICY', 'Delete'],
      ['VOLUMEBINDINGMODE', 'Immediate'],
      ['ALLOWVOLUMEEXPANSION', 'false'],
    ]);
    expect(kind.columns[0]?.cell(storageClass('other').build(), new Date())).toBe('other');
  });
});

it('allows nodes with all labels of one of its terms', () => {
  const allows = compileTopologies([
    zone('a', 'b'),
    { matchLabelExpressions: [...zone('c').matchLabelExpressions, { key: 'disk', values: ['ssd'] }] },
  ]);
  const on = (labels: Record<string, string>) => allows?.(node('n').labels(labels).build());
  expect(on({ 'topology.kubernetes.io/zone': 'b' })).toBe(true);
  expect(on({ 'topology.kubernetes.io/zone': 'c' })).toBe(false);
  expect(on({ 'topology.kubernetes.io/zone': 'c', disk: 'ssd' })).toBe(true);
  expect(on({})).toBe(false);
  expect(compileTopologies([])).toBeUndefined();
});

it('finds the only node of a volume, and none where there may be several', () => {
  expect(nodeOfVolume(volume('v').madeOn('n1').build())).toBe('n1');
  expect(nodeOfVolume(volume('v').onHost('n1').build())).toBeUndefined();
  expect(nodeOfVolume(volume('v').build())).toBeUndefined();
});

describe('a class of local-path', () => {
  it.each([
    ['berth.io/local-path', 'Immediate', true],
    ['rancher.io/local-path', '', true],
    ['berth.io/local-path', 'WaitForFirstConsumer', false],
    ['example.com/disks', 'Immediate', false],
  ])('of %s with volumeBindingMode "%s" is warned about: %s', (provisioner, volumeBindingMode, isWarned) => {
    const warnings = kind.warnings?.(made({ provisioner, ...(volumeBindingMode && { volumeBindingMode }) })) ?? [];
    expect(warnings.some((warning) => warning.includes('never get a volume'))).toBe(isWarned);
    if (isWarned) expect(warnings.join()).toContain('which needs "WaitForFirstConsumer"');
  });
});
