import { describe, expect, it } from 'vitest';
import type { Toleration } from '../../generated/types.ts';
import { validatePodUpdate } from './validate-update.ts';

const podOf = (tolerations: Toleration[]) => ({ metadata: { name: 'p', namespace: 'n' }, spec: { tolerations } });
const violations = (next: Toleration[], before: Toleration[]) =>
  validatePodUpdate(podOf(next), podOf(before)).map(({ field }) => field);

describe('tolerations of a pod', () => {
  const old = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 };

  it('may be added, and last longer or shorter', () => {
    expect(
      violations(
        [
          { ...old, tolerationSeconds: 5 },
          { key: 'b', operator: 'Exists' },
        ],
        [old],
      ),
    ).toEqual([]);
  });

  it.each<[string, Toleration[]]>([
    ['taken away', []],
    ['given another key', [{ ...old, key: 'b' }]],
    ['given another effect', [{ ...old, effect: 'NoSchedule' }]],
    ['given a value', [{ ...old, value: 'v' }]],
  ])('may not be %s', (_, next) => {
    expect(violations(next, [old])).toEqual(['spec.tolerations']);
  });

  it('are compared in one turn of the event loop, as many as fit into a pod: not each with each', () => {
    const many = Array.from({ length: 40_000 }, (_, i) => ({ key: `k${i}`, operator: 'Exists' }));
    expect(violations(many.toReversed(), many)).toEqual([]);
  });
});
