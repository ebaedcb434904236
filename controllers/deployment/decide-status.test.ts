import { describe, expect, it } from 'vitest';
import type { Deployment, DeploymentCondition } from '../../api/generated/types.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { type DeploymentParts, deploymentOf, type SetParts, setOf } from '../../test/builders/deployment.ts';
import { decideRollback, failingContainer, rolledBack } from './auto-rollback.ts';
import { withPause } from './conditions.ts';
import { computeStatus, deadlineInMs, isSameStatus } from './decide-status.ts';
import { hashOf, newReplicaSet } from './new-set.ts';
import { annotationsOfCurrent, familyOf } from './revisions.ts';

const now = 1_800_000_000_000;
const at = (secondsAgo: number) => ({ seconds: now / 1000 - secondsAgo });
const progressing = (reason: string, secondsAgo: number, status = 'True'): DeploymentCondition => ({
  type: 'Progressing',
  status,
  reason,
  message: 'm',
  lastUpdateTime: at(secondsAgo),
  lastTransitionTime: at(secondsAgo),
});

function look(parts: DeploymentParts, sets: Readonly<Record<string, SetParts>>, conditions: readonly DeploymentCondition[] = []) {
  const deployment = deploymentOf({ image: 'i:new', ...parts });
  const all = Object.entries(sets).map(([name, set], order) => setOf(name, { image: `i:${name}`, createdAt: order, ...set }));
  const family = familyOf(deployment, all);
  return { deployment, family, conditions, judgesProgress: true, now };
}

const conditionsOf = (conditions: readonly DeploymentCondition[] = []) =>
  Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));

describe('computeStatus', () => {
  it('counts the pods of all ReplicaSets, and those of the present template', () => {
    const { status } = {
      status: computeStatus(look({ replicas: 4 }, { old: { replicas: 2, available: 1 }, new: { replicas: 3 } })),
    };
    expect(status).toMatchObject({
      observedGeneration: 1,
      replicas: 5,
      updatedReplicas: 3,
      readyReplicas: 4,
      availableReplicas: 4,
      unavailableReplicas: 1,
    });
  });

  const counts = { replicas: 3, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, observedGeneration: 1 };
  it.each<[string, DeploymentParts, Record<string, SetParts>, DeploymentCondition, Record<string, string>]>([
    [
      'is complete when all that is wanted is available',
      { replicas: 3 },
      { new: { replicas: 3 } },
      progressing('ReplicaSetUpdated', 5),
      { Progressing: 'True NewReplicaSetAvailable', Available: 'True MinimumReplicasAvailable' },
    ],
    [
      'progresses when more pods are of the present template than before',
      { replicas: 3, status: counts },
      { old: { replicas: 1 }, new: { replicas: 2, available: 0 } },
      progressing('NewReplicaSetCreated', 5),
      { Progressing: 'True ReplicaSetUpdated', Available: 'False MinimumReplicasUnavailable' },
    ],
    [
      'has timed out when nothing has changed since the deadline',
      { replicas: 3, status: counts },
      { old: { replicas: 2, available: 1 }, new: { replicas: 1, available: 0 } },
      progressing('ReplicaSetUpdated', 601),
      { Progressing: 'False ProgressDeadlineExceeded', Available: 'False MinimumReplicasUnavailable' },
    ],
    [
      'has not timed out before the deadline',
      { replicas: 3, status: counts },
      { old: { replicas: 2, available: 1 }, new: { replicas: 1, available: 0 } },
      progressing('ReplicaSetUpdated', 599),
      { Progressing: 'True ReplicaSetUpdated', Available: 'False MinimumReplicasUnavailable' },
    ],
    [
      'is not judged again after it was complete, when pods fail later',
      { replicas: 3, status: counts },
      { new: { replicas: 3, available: 1 } },
      progressing('NewReplicaSetAvailable', 9_999),
      { Progressing: 'True NewReplicaSetAvailable', Available: 'False MinimumReplicasUnavailable' },
    ],
  ])('%s', (_, parts, sets, condition, outcome) =>
    expect(conditionsOf(computeStatus(look(parts, sets, [condition])).conditions)).toEqual(outcome),
  );

  it('begins the deadline of a rollout of which nothing was said so far', () => {
    const sets = { old: { replicas: 2, available: 1 }, new: { replicas: 1, available: 0 } };
    const { conditions } = computeStatus(look({ replicas: 3, status: counts }, sets));
    expect(conditionsOf(conditions)).toMatchObject({ Progressing: 'True FoundNewReplicaSet' });
    expect(deadlineInMs(deploymentOf({}), { conditions: conditions ?? [] }, now)).toBe(600_001);
  });

  it('says why a ReplicaSet makes no pods, and takes that back', () => {
    const failed = {
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: q' }],
    };
    const status = computeStatus(look({}, { new: { replicas: 3, has: 0, status: failed } }));
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'ReplicaFailure', message: 'exceeded quota: q' }));
    const after = computeStatus(look({}, { new: { replicas: 3 } }, status.conditions ?? []));
    expect(conditionsOf(after.conditions)).not.toHaveProperty('ReplicaFailure');
  });

  it('is the same again where nothing has changed', () => {
    const input = look({ replicas: 3 }, { new: { replicas: 3 } }, [progressing('ReplicaSetUpdated', 5)]);
    const status = computeStatus(input);
    const deployment: Deployment = { ...input.deployment, status };
    const again = computeStatus({ ...input, deployment, conditions: status.conditions ?? [], now: now + 60_000 });
    expect(isSameStatus(again, deployment)).toBe(true);
  });
});

describe('the progress deadline', () => {
  it.each<[string, DeploymentParts, DeploymentCondition | undefined, number | undefined]>([
    ['is looked at when it passes', {}, progressing('ReplicaSetUpdated', 500), 100_001],
    ['is looked at at once when it has passed', {}, progressing('ReplicaSetUpdated', 700), 1],
    ['does not run when the rollout is complete', {}, progressing('NewReplicaSetAvailable', 700), undefined],
    ['does not run when it has passed already', {}, progressing('ProgressDeadlineExceeded', 700, 'False'), undefined],
    ['does not run while the Deployment is paused', { paused: true }, progressing('ReplicaSetUpdated', 500), undefined],
  ])('%s', (_, parts, condition, inMs) =>
    expect(deadlineInMs(deploymentOf(parts), { conditions: condition ? [condition] : [] }, now)).toBe(inMs),
  );
});

describe('withPause', () => {
  it('says that a Deployment is paused, and that it is resumed', () => {
    const paused = withPause(deploymentOf({ paused: true }), [progressing('ReplicaSetUpdated', 5)], now);
    expect(conditionsOf(paused)).toEqual({ Progressing: 'Unknown DeploymentPaused' });
    const resumed = withPause(deploymentOf({}), paused, now);
    expect(conditionsOf(resumed)).toEqual({ Progressing: 'Unknown DeploymentResumed' });
    expect(withPause(deploymentOf({}), resumed, now)).toEqual(resumed);
  });
});

describe('newReplicaSet', () => {
  it('has a name, labels and a selector with the hash of the template, and the next revision', () => {
    const set = newReplicaSet(deploymentOf({ annotations: { note: 'x' } }), [setOf('old', { revision: 4 })], 2);
    const hash = hashOf(set);
    expect(set.metadata).toMatchObject({
      name: `web-${hash}`,
      labels: { app: 'web', 'pod-template-hash': hash },
      annotations: { note: 'x', [workloadAnnotations.revision]: '5', [workloadAnnotations.desiredReplicas]: '3' },
    });
    expect(set.spec).toMatchObject({
      replicas: 2,
      selector: { matchLabels: { app: 'web', 'pod-template-hash': hash } },
      template: { metadata: { labels: { app: 'web', 'pod-template-hash': hash } } },
    });
  });

  it('has another name when the first was taken', () => {
    const plain = newReplicaSet(deploymentOf(), [], 1);
    const after = newReplicaSet(deploymentOf({ status: { collisionCount: 1 } }), [], 1);
    expect(after.metadata?.name).not.toBe(plain.metadata?.name);
  });
});

describe('annotationsOfCurrent', () => {
  it('gives a ReplicaSet that is rolled back to the newest revision, and notes what it was', () =>
    expect(annotationsOfCurrent(deploymentOf(), setOf('a', { revision: 2 }), [setOf('b', { revision: 3 })])).toMatchObject({
      [workloadAnnotations.revision]: '4',
      [workloadAnnotations.revisionHistory]: '2',
    }));
  it('changes nothing where the present ReplicaSet has the newest revision', () => {
    const set = setOf('a', { revision: 4 });
    expect(annotationsOfCurrent(deploymentOf(), set, [setOf('b', { revision: 3 })])).toEqual(set.metadata?.annotations);
  });
});

describe('a revision', () => {
  const named = (revision: string) => {
    const made = setOf('a', {});
    const annotations = { ...made.metadata?.annotations, [workloadAnnotations.revision]: revision };
    return { ...made, metadata: { ...made.metadata, annotations } };
  };
  const next = (...revisions: string[]) =>
    annotationsOfCurrent(deploymentOf(), undefined, revisions.map(named))[workloadAnnotations.revision];

  it.each([
    [
      'goes on from one that no number of JavaScript holds',
      ['3546343826724305832', '3546343826724305831'],
      '3546343826724305833',
    ],
    ['is counted in 64 bits', ['9223372036854775806'], '9223372036854775807'],
    ['is not counted where it has more', ['9223372036854775808', '7'], '8'],
    ['is not counted where it is no number', ['-3', 'x', '', '0x10'], '1'],
    ['has none behind the last', ['9223372036854775807'], undefined],
  ])('%s', (_, before, expected) => expect(next(...before)).toBe(expected));
});

describe('a rollback by itself', () => {
  const asks = { [workloadAnnotations.rollbackOnDeadline]: 'true' };
  const timedOut = [progressing('ProgressDeadlineExceeded', 1, 'False')];
  const sets = { good: { replicas: 3, revision: 1 }, new: { replicas: 1, available: 0, revision: 2 } };
  const decide = (parts: DeploymentParts, conditions: DeploymentCondition[], of: Record<string, SetParts> = sets) =>
    decideRollback(look(parts, of, conditions))?.metadata?.name;

  it.each<[string, string | undefined, string | undefined]>([
    ['goes to the revision before when the deadline has passed', decide({ annotations: asks }, timedOut), 'web-good'],
    ['does not happen unasked', decide({}, timedOut), undefined],
    ['does not happen before the deadline', decide({ annotations: asks }, [progressing('ReplicaSetUpdated', 1)]), undefined],
    ['does not happen where there is no revision before', decide({ annotations: asks }, timedOut, { new: {} }), undefined],
    [
      'does not happen twice in a row',
      decide({ annotations: { ...asks, [workloadAnnotations.rolledBackTo]: 'new' } }, timedOut),
      undefined,
    ],
  ])('%s', (_, outcome, expected) => expect(outcome).toBe(expected));

  it('writes the template of before without the label of its hash, and says so', () => {
    const { spec, metadata } = rolledBack(deploymentOf({ image: 'i:new' }), setOf('good', { image: 'i:good', revision: 7 }));
    expect(spec?.template).toEqual({
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'i:good' }] },
    });
    expect(metadata?.annotations).toMatchObject({
      [workloadAnnotations.rolledBackTo]: 'good',
      [workloadAnnotations.changeCause]: expect.stringContaining('revision 7'),
    });
  });

  it.each([
    [{ state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }, 'ImagePullBackOff no such image', false],
    [
      { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 3 } } },
      'CrashLoopBackOff (exit code 3)',
      true,
    ],
    [{ state: { terminated: { exitCode: 2, reason: 'Error' } } }, 'Error (exit code 2)', true],
    [{ state: { running: {} }, ready: false }, 'is running and not ready', true],
  ])('names the container and its reason (%j)', (status, why, hasRun) =>
    expect(failingContainer({ status: { containerStatuses: [{ name: 'c', ...status }] } })).toEqual({ name: 'c', why, hasRun }),
  );
});
