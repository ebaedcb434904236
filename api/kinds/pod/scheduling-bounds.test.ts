import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../../generated/types.ts';
import { checkSchedulingBounds } from './scheduling-bounds.ts';

const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const term = (at: number) => ({ topologyKey: `k${at}` });
const expressions = (count: number) => many(count, (at) => ({ key: `k${at}`, operator: 'Exists' }));
const terms = (near: number, apart: number, wished: number): PodSpec => ({
  affinity: {
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: many(near, term) },
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: many(apart, term),
      preferredDuringSchedulingIgnoredDuringExecution: many(wished, (at) => ({ weight: 1, podAffinityTerm: term(at) })),
    },
  },
});
const nodes = (required: number, preferred: number): PodSpec => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: expressions(required) }] },
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: expressions(preferred) } }],
    },
  },
});

describe('the scheduling rules of a new pod', () => {
  it.each<[string, PodSpec, string | undefined]>([
    ['no rules', {}, undefined],
    ['64 constraints', { topologySpreadConstraints: many(64, term) }, undefined],
    ['65 constraints', { topologySpreadConstraints: many(65, term) }, 'spec.topologySpreadConstraints'],
    ['128 pod terms', terms(40, 48, 40), undefined],
    ['129 pod terms', terms(40, 49, 40), 'spec.affinity'],
    ['500 node requirements with their terms', nodes(300, 198), undefined],
    ['501 node requirements with their terms', nodes(300, 199), 'spec.affinity.nodeAffinity'],
  ])('with %s are refused at %s', (_, spec, field) => {
    expect(checkSchedulingBounds({ spec }).map((each) => each.field)).toEqual(field ? [field] : []);
  });
});
