import { describe, expect, it } from 'vitest';
import { pod } from '../../../test/builders/index.ts';
import type { NodeSelectorTerm, Pod, PodSpec } from '../../generated/types.ts';
import { pod as kind } from './kind.ts';

const created = (spec: PodSpec): Pod => {
  const built = pod('p').spec(spec).build();
  kind.lifecycle?.prepareForCreate?.(built);
  return built;
};

describe('a new pod with scheduling gates', () => {
  it('says in its condition that it is not scheduled, and why', () => {
    const gated = created({ schedulingGates: [{ name: 'example.com/quota' }] });
    expect(gated.status?.conditions).toEqual([
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
        lastTransitionTime: gated.metadata?.creationTimestamp,
      },
    ]);
    expect(created({}).status?.conditions).toBeUndefined();
  });
});

const term = (...values: string[]): NodeSelectorTerm => ({
  matchExpressions: values.map((key) => ({ key, operator: 'Exists' })),
});
const requiring = (...nodeSelectorTerms: NodeSelectorTerm[]): PodSpec => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const preferring = (key: string): PodSpec => ({
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term(key) }] } },
});

describe('an update of a pod with scheduling gates', () => {
  const gates = (...names: string[]): PodSpec => ({ schedulingGates: names.map((name) => ({ name })) });
  const at = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  it.each<[string, PodSpec, PodSpec, string[]]>([
    ['may take a gate away', gates('a', 'b'), gates('b'), []],
    ['may take all gates away', gates('a'), gates(), []],
    ['may not add one', gates('a'), gates('a', 'b'), ['spec.schedulingGates[1]']],
    ['may not gate a pod that was free', {}, gates('a'), ['spec.schedulingGates[0]']],
    ['may add to the nodeSelector', gates('a'), { ...gates('a'), nodeSelector: { k: 'v' } }, []],
    [
      'may not change what it selects',
      { ...gates('a'), nodeSelector: { k: 'v' } },
      { nodeSelector: { k: 'w' } },
      ['spec.nodeSelector'],
    ],
    ['may not narrow a pod that was free', {}, { nodeSelector: { k: 'v' } }, ['spec.nodeSelector']],
    ['may require nodes where it required none', gates('a'), { ...gates('a'), ...requiring(term('x')) }, []],
    ['may require more of them', { ...gates('a'), ...requiring(term('x')) }, requiring(term('x', 'y')), []],
    ['may not require less', { ...gates('a'), ...requiring(term('x', 'y')) }, requiring(term('x')), [`${at}[0]`]],
    ['may not offer another term', { ...gates('a'), ...requiring(term('x')) }, requiring(term('x'), term('y')), [at]],
    ['may not drop what is required', { ...gates('a'), ...requiring(term('x')) }, {}, [at]],
    ['may prefer something else', { ...gates('a'), ...preferring('x') }, preferring('y'), []],
    ['may prefer nothing any more', { ...gates('a'), ...preferring('x') }, {}, []],
    [
      'may not change other affinities',
      gates('a'),
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'k' }] } } },
      ['spec.affinity.podAffinity'],
    ],
  ])('%s', (_, before, next, fields) => {
    const violations = kind.validateUpdate(pod('p').spec(next).build(), pod('p').spec(before).build());
    expect(violations.map(({ field }) => field)).toEqual(fields);
  });
});
