import { describe, expect, it } from 'vitest';
import type { JobSpec, JobStatus, Pod } from '../../api/generated/types.ts';
import { validateJobStatus } from '../../api/kinds/job/validate-status.ts';
import { jobPod, makeJob } from '../../test/builders/job.ts';
import { noBackoff } from './back-off.ts';
import { decideJob } from './decide.ts';
import { decideStatus, type Outcome } from './decide-status.ts';

const now = 1_000_000;
const time = { seconds: 1_000 };
const condition = (type: string, reason: string, message: string, status = 'True') => ({
  type,
  status,
  reason,
  message,
  lastProbeTime: time,
  lastTransitionTime: time,
});
const met = condition('SuccessCriteriaMet', 'CompletionsReached', 'Reached expected number of succeeded pods');
const reached = { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };

function decide(
  spec: JobSpec,
  status: JobStatus | undefined,
  pods: readonly Pod[],
  outcome: Outcome = { created: 0, removed: [] },
) {
  const job = makeJob(spec, status);
  const plan = decideJob({ job, pods, backoff: noBackoff, seen: () => new Map(), now });
  const decided = decideStatus({ job, pods, ...plan, outcome, now });
  // The API server takes it.
  if (decided.status) expect(validateJobStatus({ ...job, status: decided.status }, job)).toEqual([]);
  const notes = decided.notes.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  return { status: decided.status, notes };
}

describe('the status of a Job', () => {
  it('says when it began, and what was made since its pods were looked at', () => {
    expect(decide({ completions: 3, parallelism: 2 }, undefined, [], { created: 2, removed: [] })).toEqual({
      status: { startTime: time, active: 2, ready: 0, terminating: 0, succeeded: 0, failed: 0, uncountedTerminatedPods: {} },
      notes: [],
    });
  });

  it('counts what runs, is ready and ends', () => {
    const pods = [jobPod('a', { ready: true }), jobPod('b'), jobPod('c', { deleting: 30 }), jobPod('d', { phase: 'Pending' })];
    const spec = { completions: 9, parallelism: 3, podReplacementPolicy: 'Failed' };
    expect(decide(spec, { startTime: time }, pods).status).toMatchObject({ active: 3, ready: 1, terminating: 1 });
    const removed = { created: 0, removed: [pods[0]!] };
    expect(decide(spec, { startTime: time }, pods, removed).status).toMatchObject({ active: 2, ready: 0, terminating: 2 });
  });

  it('is not written when it is as it should be', () => {
    const status = { startTime: time, active: 1, ready: 0, terminating: 0 };
    expect(decide({}, status, [jobPod('a')])).toEqual({ status: undefined, notes: [] });
  });

  it('says first that the criteria are met, and that it is complete when all pods are counted', () => {
    const first = decide({}, { startTime: time, active: 1, ready: 0, terminating: 0 }, [jobPod('a', { phase: 'Succeeded' })]);
    expect(first).toMatchObject({ status: { conditions: [met], uncountedTerminatedPods: { succeeded: ['a'] } }, notes: [] });
    expect(first.status).not.toHaveProperty('completionTime');
    const last = decide({}, first.status, [jobPod('a', { phase: 'Succeeded', free: true })]);
    const complete = condition('Complete', reached.reason, reached.message);
    expect(last).toMatchObject({
      status: { conditions: [met, complete], succeeded: 1, completionTime: time, uncountedTerminatedPods: {} },
      notes: ['Normal Completed: Job completed'],
    });
    expect(last.status?.uncountedTerminatedPods).toEqual({});
  });

  it('says both at once where there is nothing to count', () => {
    const { status } = decide({ completions: 0 }, undefined, []);
    expect(status?.conditions?.map(({ type }) => type)).toEqual(['SuccessCriteriaMet', 'Complete']);
  });

  it('waits for pods that are still ending before it is final', () => {
    const { status } = decide({}, { startTime: time, conditions: [met] }, [jobPod('a', { deleting: 30, free: true })]);
    expect(status).toMatchObject({ terminating: 1, conditions: [met] });
  });

  it('says why it fails, and is failed when its pods have gone', () => {
    const spec = { backoffLimit: 0 };
    const first = decide(spec, { startTime: time }, [jobPod('a', { phase: 'Failed' }), jobPod('b')]);
    const why = ['BackoffLimitExceeded', 'Job has reached the specified backoff limit'] as const;
    expect(first.status).toMatchObject({ conditions: [condition('FailureTarget', ...why)], active: 1 });
    const last = decide(spec, { ...first.status, active: 0 }, []);
    expect(last).toMatchObject({
      status: { conditions: [condition('FailureTarget', ...why), condition('Failed', ...why)], failed: 1 },
      notes: ['Warning BackoffLimitExceeded: Job has reached the specified backoff limit'],
    });
  });

  it('warns of more successes than were asked for', () => {
    expect(decide({ completions: 1 }, { startTime: time, succeeded: 2, conditions: [met] }, []).notes).toEqual([
      'Warning TooManySucceededPods: Too many succeeded pods running after completion count reached',
      'Normal Completed: Job completed',
    ]);
  });

  it('has no start while it is suspended, and another one when it goes on', () => {
    const suspended = decide({ suspend: true }, { startTime: { seconds: 5 }, active: 0 }, []);
    expect(suspended).toMatchObject({
      status: { conditions: [condition('Suspended', 'JobSuspended', 'Job suspended')] },
      notes: ['Normal Suspended: Job suspended'],
    });
    expect(suspended.status).not.toHaveProperty('startTime');
    expect(decide({ suspend: true }, suspended.status, [])).toEqual({ status: undefined, notes: [] });
    const resumed = decide({}, suspended.status, []);
    expect(resumed).toMatchObject({
      status: { startTime: time, conditions: [condition('Suspended', 'JobResumed', 'Job resumed', 'False')] },
      notes: ['Normal Resumed: Job resumed'],
    });
  });

  it('has a start when a suspended Job ends', () => {
    expect(decide({ suspend: true, completions: 0 }, undefined, []).status).toMatchObject({
      startTime: time,
      completionTime: time,
    });
  });

  it('loses indexes with a Job that becomes smaller', () => {
    const spec = { completionMode: 'Indexed', completions: 2, parallelism: 2 };
    const { status } = decide(spec, { startTime: time, succeeded: 3, completedIndexes: '0,3,4' }, [jobPod('a', { index: 1 })]);
    expect(status).toMatchObject({ succeeded: 1, completedIndexes: '0' });
  });
});
