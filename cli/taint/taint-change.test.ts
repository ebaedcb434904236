import { expect, it } from 'vitest';
import type { Taint } from '../../api/generated/types.ts';
import { computeTaints, splitTaints } from './taint-change.ts';

const change = (text: string) => splitTaints(text.split(' ')).change;
const text = (taints: readonly Taint[] | undefined) =>
  taints?.map(({ key, value, effect }) => `${key}${value === undefined ? '' : `=${value}`}:${effect}`).join(' ');
const present: Taint[] = [
  { key: 'gpu', value: 'a100', effect: 'NoSchedule' },
  { key: 'gpu', effect: 'NoExecute' },
];

it('tells names of nodes from taints', () => {
  expect(splitTaints(['n1', 'node/n2', 'a/b=c:NoSchedule', 'old-', 'x:NoExecute-'])).toEqual({
    nodes: ['n1', 'node/n2'],
    change: {
      set: [{ key: 'a/b', value: 'c', effect: 'NoSchedule' }],
      remove: [{ key: 'old' }, { key: 'x', effect: 'NoExecute' }],
    },
  });
});

it.each([
  ['n1', 'say which taints to set or to remove'],
  ['n1 a=b', '"a=b" is no taint: write KEY=VALUE:EFFECT'],
  ['n1 a=b:NoSchedule n2', '"n2" is no taint'],
  ['n1 a=b:never', 'the effect must be NoSchedule, PreferNoSchedule, NoExecute'],
  ['n1 a:NoRun-', 'the effect must be'],
  ['n1 a=b:NoSchedule-', '"a=b:NoSchedule-" is no taint'],
  ['n1 a:NoSchedule a=x:NoSchedule', 'the taint a:NoSchedule is given twice'],
  ['n1 a:NoSchedule a-', 'the taint "a" cannot be set and removed at once'],
])('refuses "%s"', (words, message) => expect(() => change(words)).toThrow(message));

it.each([
  ['new=1:NoExecute', 'gpu=a100:NoSchedule gpu:NoExecute new=1:NoExecute', 'tainted'],
  ['gpu-', '', 'untainted'],
  ['gpu:NoExecute-', 'gpu=a100:NoSchedule', 'untainted'],
  ['gpu:NoExecute- new:NoSchedule', 'gpu=a100:NoSchedule new:NoSchedule', 'modified'],
  ['gpu=a100:NoSchedule', undefined, 'not tainted'],
  ['none-', undefined, 'not tainted'],
])('"%s" makes it "%s"', (words, after, done) => {
  const plan = computeTaints(present, change(words), false);
  expect([text(plan.taints), plan.done]).toEqual([after, done]);
});

it('changes a value only when told to overwrite', () => {
  const wish = change('gpu=h100:NoSchedule');
  expect(() => computeTaints(present, wish, false)).toThrow(
    'the taint gpu:NoSchedule is there already with the value "a100"; add --overwrite',
  );
  expect(text(computeTaints(present, wish, true).taints)).toBe('gpu=h100:NoSchedule gpu:NoExecute');
});

it('says what there was not to remove', () => {
  expect(computeTaints(present, change('none- x:NoExecute- gpu-'), false).absent).toEqual(['none', 'x:NoExecute']);
});
