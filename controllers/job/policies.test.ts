import { describe, expect, it } from 'vitest';
import type { PodFailurePolicyRule, SuccessPolicyRule } from '../../api/generated/types.ts';
import { jobPod, makeJob } from '../../test/builders/job.ts';
import { judgeFailure } from './failure-policy.ts';
import { IndexSet } from './index-set.ts';
import { meetsSuccessPolicy } from './success-policy.ts';

const onCodes = (action: string, operator: string, values: number[], containerName?: string): PodFailurePolicyRule => ({
  action,
  onExitCodes: { operator, values, ...(containerName && { containerName }) },
});
const onDisruption: PodFailurePolicyRule = { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] };

describe('the failure policy', () => {
  const failed = jobPod('p', { phase: 'Failed', exitCode: 42 });
  it.each([
    ['counts without rules', [], { counts: true }],
    ['counts what no rule matches', [onCodes('Ignore', 'In', [1])], { counts: true }],
    ['ignores by exit code', [onCodes('Ignore', 'In', [1, 42])], { action: 'Ignore', counts: false }],
    ['ignores by all but an exit code', [onCodes('Ignore', 'NotIn', [1])], { action: 'Ignore', counts: false }],
    ['counts expressly', [onCodes('Count', 'In', [42])], { action: 'Count', counts: true }],
    ['fails the index', [onCodes('FailIndex', 'In', [42])], { action: 'FailIndex', counts: true }],
    ['passes over rules for other containers', [onCodes('Ignore', 'In', [42], 'other')], { counts: true }],
    [
      'takes the first rule that matches',
      [onDisruption, onCodes('Count', 'In', [42]), onCodes('FailJob', 'In', [42])],
      { action: 'Count', counts: true },
    ],
    [
      "fails the Job, with Kubernetes' message",
      [onDisruption, onCodes('FailJob', 'In', [42])],
      {
        action: 'FailJob',
        counts: true,
        message: 'Container main for pod a/p failed with exit code 42 matching FailJob rule at index 1',
      },
    ],
  ])('%s', (_, rules, verdict) => {
    expect(judgeFailure(makeJob({ podFailurePolicy: { rules } }), failed)).toEqual(verdict);
  });

  it('judges by conditions of the pod', () => {
    const rules = [{ ...onDisruption, action: 'FailJob' }];
    const disrupted = jobPod('p', { phase: 'Failed', condition: 'DisruptionTarget' });
    expect(judgeFailure(makeJob({ podFailurePolicy: { rules } }), disrupted).message).toBe(
      'Pod a/p has condition DisruptionTarget matching FailJob rule at index 0',
    );
    expect(judgeFailure(makeJob({ podFailurePolicy: { rules: [onDisruption] } }), failed)).toEqual({ counts: true });
  });

  it('does not judge by containers that ended well', () => {
    const rules = [onCodes('Ignore', 'NotIn', [1])];
    const evicted = jobPod('p', { phase: 'Failed', exitCode: 0 });
    expect(judgeFailure(makeJob({ podFailurePolicy: { rules } }), evicted)).toEqual({ counts: true });
  });
});

describe('the success policy', () => {
  const all: [string, string, SuccessPolicyRule[], string | undefined][] = [
    ['is not met by no index', '', [{ succeededCount: 0 }], undefined],
    ['is met by a number of indexes', '1,5', [{ succeededCount: 2 }], 'Matched rules at index 0'],
    ['is not met by fewer', '1', [{ succeededCount: 2 }], undefined],
    ['is met by certain indexes', '0-3', [{ succeededIndexes: '1-2' }], 'Matched rules at index 0'],
    ['is not met when one of them is missing', '0,2', [{ succeededIndexes: '1-2' }], undefined],
    ['is met by some of certain indexes', '0,2,9', [{ succeededIndexes: '1-3', succeededCount: 1 }], 'Matched rules at index 0'],
    ['names the rule', '4', [{ succeededIndexes: '1' }, { succeededCount: 1 }], 'Matched rules at index 1'],
  ];
  it.each(all)('%s', (_, succeeded, rules, message) => {
    const job = makeJob({ completions: 10, completionMode: 'Indexed', successPolicy: { rules } });
    expect(meetsSuccessPolicy(job, IndexSet.parse(succeeded, 10))).toBe(message);
  });
});
