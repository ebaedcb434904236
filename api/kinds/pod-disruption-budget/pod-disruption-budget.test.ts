import { describe, expect, it } from 'vitest';
import type { IntOrString, PodDisruptionBudget } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';
import { scaled } from './scaled.ts';

const kind = kindNamed('PodDisruptionBudget');
const number = (intVal: number): IntOrString => ({ type: 0, intVal });
const text = (strVal: string): IntOrString => ({ type: 1, strVal });
const refused = (spec: PodDisruptionBudget['spec']) =>
  kind.validate({ metadata: { name: 'b' }, ...(spec && { spec }) }).map(({ field }) => field);

describe('a budget', () => {
  it.each<[string, PodDisruptionBudget['spec'], string[]]>([
    ['a number of pods', { minAvailable: number(2), selector: {} }, []],
    ['a part of them', { maxUnavailable: text('30%') }, []],
    ['nothing', {}, []],
    ['both bounds', { minAvailable: number(1), maxUnavailable: number(1) }, ['spec']],
    ['a negative number', { minAvailable: number(-1) }, ['spec.minAvailable']],
    ['more than all', { maxUnavailable: text('101%') }, ['spec.maxUnavailable']],
    ['a text that is no percentage', { minAvailable: text('half') }, ['spec.minAvailable']],
    ['a negative percentage', { minAvailable: text('-5%') }, ['spec.minAvailable']],
    ['a policy that does not exist', { unhealthyPodEvictionPolicy: 'Never' }, ['spec.unhealthyPodEvictionPolicy']],
    [
      'a selector that is none',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Like', values: [] }] } },
      ['spec.selector.matchExpressions[0].operator'],
    ],
  ])('is judged when it says %s', (_title, spec, fields) => {
    expect([...new Set(refused(spec).filter((field) => !field.endsWith('.values')))]).toEqual(fields);
  });

  it('rounds a part of the pods up', () => {
    expect([scaled(text('50%'), 5), scaled(text('0%'), 5), scaled(text('100%'), 5), scaled(number(7), 5)]).toEqual([3, 0, 5, 7]);
    expect(scaled(text('x'), 5)).toBeUndefined();
  });

  it('shows what kubectl shows', () => {
    expect(kindOf('pdb')).toBe(kind);
    const budget: PodDisruptionBudget = {
      metadata: { name: 'b' },
      spec: { minAvailable: text('50%') },
      status: { disruptionsAllowed: 3 },
    };
    const cells = kind.columns.map(({ name, cell }) => [name, cell(budget, new Date())]);
    expect(cells.slice(0, 4)).toEqual([
      ['NAME', 'b'],
      ['MIN AVAILABLE', '50%'],
      ['MAX UNAVAILABLE', 'N/A'],
      ['ALLOWED DISRUPTIONS', '3'],
    ]);
  });
});
