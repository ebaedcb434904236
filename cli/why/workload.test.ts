import { describe, expect, it } from 'vitest';
import type { Tree } from '../describe/json.ts';
import type { ExplainedTrouble } from '../workload/trouble-tails.ts';
import { groupTroubles } from '../workload/troubles.ts';
import { newestOfEach } from './read-workload.ts';
import { answerOf } from './workload-answer.ts';
import type { WorkloadFacts, WorkloadState } from './workload-facts.ts';
import { answerText } from './workload-report.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

/** A workload of which the controller has seen the present spec. */
const workload = (spec: Tree = {}, status: Tree = {}, metadata: Tree = {}): Tree => ({
  metadata: { name: 'web', namespace: 'default', generation: 1, ...metadata },
  spec: { replicas: 3, ...spec },
  status: { observedGeneration: 1, ...status },
});

const pod = (name: string, status: Tree, spec: Tree = { nodeName: 'n1' }): Tree => ({
  metadata: { name, namespace: 'default', uid: name, creationTimestamp: ago(60) },
  spec,
  status: { phase: 'Pending', ...status },
});
const ready = (name: string): Tree => pod(name, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
const unschedulable = (name: string): Tree => {
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available' }];
  return pod(name, { conditions }, {});
};
const container = (state: Tree, more: Tree = {}): Tree => ({ containerStatuses: [{ name: 'c', state, ...more }] });
const crashing = (name: string): Tree =>
  pod(
    name,
    container({ waiting: { reason: 'CrashLoopBackOff' } }, { lastState: { terminated: { exitCode: 1 } }, restartCount: 3 }),
  );
const starting = (name: string): Tree => pod(name, container({ waiting: { reason: 'ContainerCreating' } }));
const unready = (name: string): Tree =>
  pod(name, container({ running: { startedAt: ago(50) } }, { ready: false, started: true }));

const explained = (pods: readonly Tree[], lines: readonly string[] = []): ExplainedTrouble[] =>
  groupTroubles(pods, now).map((trouble) => ({
    trouble,
    lines: trouble.run ? lines : [],
    of: `${trouble.run ? 'p, container c' : ''}`,
  }));

function facts(kind: string, object: Tree, pods: readonly Tree[] = [], more: Partial<WorkloadFacts> = {}): WorkloadFacts {
  const none = { oldTroubles: [], events: [], podEvents: new Map(), budgets: [] };
  return { kind, object, pods, troubles: explained(pods), ...none, now, ...more };
}

describe('where a workload stands', () => {
  const allUp = { replicas: 3, updatedReplicas: 3, availableReplicas: 3 };
  const revision = { annotations: { 'deployment.kubernetes.io/revision': '4' } };
  const late = [{ type: 'Progressing', reason: 'ProgressDeadlineExceeded', lastTransitionTime: ago(120) }];
  it.each<[string, Tree, WorkloadState, string]>([
    ['Deployment', workload({}, allUp, revision), 'up', 'is up: 3 of 3 replicas are available, all of revision 4.'],
    ['Deployment', workload({ replicas: 0 }), 'up', 'is scaled to 0: it wants no pods.'],
    [
      'Deployment',
      workload({}, { replicas: 4, updatedReplicas: 1, availableReplicas: 3 }, revision),
      'progressing',
      'is on its way: 3 of 3 replicas are available, 1 of revision 4, 1 more than wanted.',
    ],
    [
      'Deployment',
      workload({ progressDeadlineSeconds: 600 }, { replicas: 3, updatedReplicas: 1, conditions: late }),
      'stuck',
      'is not up: 0 of 3 replicas are available, 1 of the present template; its progress deadline of 600s passed 2m ago.',
    ],
    [
      'Deployment',
      workload(
        { progressDeadlineSeconds: 600 },
        { replicas: 4, updatedReplicas: 1, availableReplicas: 3, conditions: late },
        revision,
      ),
      'stuck',
      'is up, but its last change is stuck: 3 of 3 replicas are available, 1 of revision 4, 1 more than wanted; its progress',
    ],
    [
      'Deployment',
      workload({ paused: true }, allUp, revision),
      'stuck',
      'is up, but not all is well: 3 of 3 replicas are available, all of revision 4.',
    ],
    [
      'Deployment',
      workload({}, { observedGeneration: 0 }),
      'progressing',
      'has been changed, and its controller has not looked at it since',
    ],
    [
      'Deployment',
      workload({}, allUp, { deletionTimestamp: ago(5), finalizers: ['x/y'] }),
      'stuck',
      'is being deleted, and waits for its finalizers: x/y.',
    ],
    ['ReplicaSet', workload({}, { replicas: 3, availableReplicas: 3 }), 'up', 'is up: 3 of 3 replicas are available.'],
    [
      'ReplicationController',
      workload({}, { replicas: 2, availableReplicas: 1 }),
      'progressing',
      '1 of 3 replicas are available.',
    ],
    [
      'StatefulSet',
      workload({}, { replicas: 3, readyReplicas: 3, updatedReplicas: 1, updateRevision: 'web-7' }),
      'progressing',
      'is on its way: 3 of 3 replicas are ready, 1 of revision web-7.',
    ],
    [
      'StatefulSet',
      workload({ updateStrategy: { rollingUpdate: { partition: 2 } } }, { replicas: 3, readyReplicas: 3, updatedReplicas: 1 }),
      'up',
      'is up: 3 of 3 replicas are ready',
    ],
    [
      'DaemonSet',
      workload({}, { desiredNumberScheduled: 2, numberAvailable: 2, updatedNumberScheduled: 2 }),
      'up',
      'is up: pods are available on 2 of 2 nodes, 2 of the present template.',
    ],
    ['DaemonSet', workload(), 'up', 'runs nowhere: no node fits its node selector, affinity and tolerations.'],
    [
      'Job',
      workload({ completions: 2 }, { succeeded: 2, conditions: [{ type: 'Complete', status: 'True' }] }),
      'up',
      'is complete: 2 of 2 pods succeeded, 0 failed, 0 active.',
    ],
    [
      'Job',
      workload(
        {},
        { failed: 1, conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'limit' }] },
      ),
      'stuck',
      'failed, BackoffLimitExceeded: limit: 0 pods succeeded, 1 failed, 0 active.',
    ],
    [
      'Job',
      workload({}, { active: 1, startTime: ago(30) }),
      'progressing',
      'has run for 30s: 0 pods succeeded, 0 failed, 1 active.',
    ],
    ['Job', workload({ suspend: true }), 'stuck', 'is suspended: 0 pods succeeded'],
    [
      'CronJob',
      workload({ schedule: '30 * * * *' }, { lastScheduleTime: ago(1_800) }),
      'up',
      'is waiting for its next time, in 30m (2026-01-01T12:30:00Z): the last job was due 30m ago, none is active.',
    ],
    [
      'CronJob',
      workload({ schedule: '0 0 * * *', suspend: true }),
      'stuck',
      'is suspended: no jobs are started: no job was started so far',
    ],
    ['CronJob', workload({ schedule: '0 0 31 2 *' }), 'stuck', 'has a schedule with no time to come'],
  ])('a %s (%#)', (kind, object, state, said) => {
    const answer = answerOf(facts(kind, object));
    expect(answer).toMatchObject({ kind, namespace: 'default', name: 'web', state });
    expect(answer.headline).toContain(`${kind.toLowerCase()} default/web `);
    expect(answer.headline).toContain(said);
  });
});

describe('what is in the way of a workload', () => {
  const whats = (of: WorkloadFacts) => answerOf(of).obstacles.map(({ what }) => what);

  it('are its pods, by cause, with what the scheduler, events and logs say', () => {
    const pods = [unschedulable('a'), unschedulable('b'), crashing('c')];
    const key = groupTroubles([crashing('c')], now)[0]!.key;
    const event = { type: 'Warning', reason: 'Unhealthy', message: 'Liveness probe failed: 500' };
    const scheduling = { remedies: ['node n1 had 1 CPU more'], triedAgainWhen: ['a node changes'] };
    const answer = answerOf(
      facts('Deployment', workload({}, { replicas: 3, updatedReplicas: 3 }), pods, {
        troubles: explained(pods, ['panic']),
        podEvents: new Map([[key, [event]]]),
        scheduling,
      }),
    );
    expect(answer.state).toBe('stuck');
    expect(answerText(answer)).toBe(
      [
        'deployment default/web is not up: 0 of 3 replicas are available, 3 of the present template.',
        '',
        '2 pods unschedulable: 0/1 nodes are available',
        '  a, b',
        '  It would fit if this were otherwise, one of:',
        '    node n1 had 1 CPU more',
        '  It is tried again when a node changes.',
        '',
        '1 pod with container "c" that ended with exit code 1, restarted 3 times',
        '  c',
        '  Unhealthy: Liveness probe failed: 500',
        '  Last log lines of p, container c:',
        '    panic',
        '',
      ].join('\n'),
    );
  });

  it('are told by the newest event of each reason, and of each kind of probe', () => {
    const event = (reason: string, message: string, seconds: number): Tree => ({ reason, message, lastTimestamp: ago(seconds) });
    const events = [
      event('Unhealthy', 'Readiness probe failed: connection refused', 1),
      event('Unhealthy', 'Liveness probe failed: no such file', 3),
      event('Unhealthy', 'Liveness probe failed: timed out', 9),
      event('FailedMount', 'no volume a', 8),
      event('FailedMount', 'no volume b', 7),
    ];
    expect(newestOfEach(events).map(({ message }) => message)).toEqual([
      'no volume b',
      'Liveness probe failed: no such file',
      'Readiness probe failed: connection refused',
    ]);
  });

  it('are pods on their way only as long as not all are there, and they do not make it stuck', () => {
    const some = facts('Deployment', workload({}, { replicas: 3, updatedReplicas: 3 }), [starting('a')]);
    expect(answerOf(some)).toMatchObject({ state: 'progressing', obstacles: [{ what: '1 pod starting' }] });
    const all = { replicas: 3, updatedReplicas: 3, availableReplicas: 3 };
    const failed = pod('f', { phase: 'Failed', reason: 'Evicted' });
    expect(answerOf(facts('Deployment', workload({}, all), [failed]))).toMatchObject({ state: 'up', obstacles: [] });
  });

  it('are pods of earlier templates too', () => {
    const old = facts('Deployment', workload({}, { replicas: 3 }), [], { oldTroubles: explained([crashing('o')]) });
    expect(whats(old)).toEqual([
      '1 pod with container "c" that ended with exit code 1, restarted 3 times (of an earlier template)',
    ]);
  });

  it.each<[string, WorkloadFacts, string[]]>([
    [
      'a pause',
      facts('Deployment', workload({ paused: true })),
      ['it is paused: "berth rollout resume deployment/web" lets changes of its template through'],
    ],
    [
      'a quota, as the condition says',
      facts(
        'ReplicaSet',
        workload(
          {},
          { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: q' }] },
        ),
      ),
      ['pods cannot be created, FailedCreate: exceeded quota: q'],
    ],
    [
      'an admission refusal, as events say',
      facts('StatefulSet', workload(), [], {
        events: [{ type: 'Warning', reason: 'FailedCreate', message: 'forbidden', lastTimestamp: ago(10) }],
      }),
      ['pods cannot be created, FailedCreate: forbidden'],
    ],
    [
      'a pod that holds up those behind it',
      facts('StatefulSet', workload({}, { replicas: 2 }), [ready('web-0'), unready('web-1')]),
      [
        '1 pod not ready: container "c" runs and is not ready',
        'the pods behind web-1 are made when it is ready (podManagementPolicy OrderedReady)',
      ],
    ],
    [
      'no order where pods are made side by side',
      facts('StatefulSet', workload({ podManagementPolicy: 'Parallel' }, { replicas: 2 }), [unready('web-1')]),
      ['1 pod not ready: container "c" runs and is not ready'],
    ],
  ])('can be %s', (_title, of, expected) => {
    expect(whats(of)).toEqual(expected);
    expect(answerOf(of).state).toBe('stuck');
  });

  it('of a CronJob is what is in the way of its last job', () => {
    const failed = { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'limit' };
    const lastJob = facts('Job', workload({}, { failed: 1, conditions: [failed] }, { name: 'web-1' }), [crashing('c')]);
    const cronJob = facts('CronJob', workload({ schedule: '0 * * * *' }), [], { lastJob });
    expect(answerOf(cronJob).state).toBe('stuck');
    expect(whats(cronJob)).toEqual([
      'its last job default/web-1 failed, BackoffLimitExceeded: limit: 0 pods succeeded, 1 failed, 0 active',
      '1 pod with container "c" that ended with exit code 1, restarted 3 times',
    ]);
  });

  it('names the reason why a scheduler is silent', () => {
    const pods = [unschedulable('a')];
    const answer = answerOf(facts('ReplicaSet', workload(), pods, { scheduling: { silent: 'no scheduler runs' } }));
    expect(answer.obstacles[0]?.details).toEqual(['the scheduler does not say why: no scheduler runs']);
  });
});

describe('what is worth knowing of a workload', () => {
  const notes = (of: WorkloadFacts) => answerOf(of).notes;
  it.each<[string, WorkloadFacts, string]>([
    [
      'pods that are not available yet',
      facts('Deployment', workload({ minReadySeconds: 30 }, { readyReplicas: 2, availableReplicas: 1 })),
      '1 pod is ready, and available once that has lasted 30s (minReadySeconds)',
    ],
    [
      'pods that stay until they are deleted',
      facts('StatefulSet', workload({ updateStrategy: { type: 'OnDelete' } }, { updatedReplicas: 1 })),
      '2 pods are of an earlier template until deleted (updateStrategy OnDelete)',
    ],
    [
      'pods on the wrong nodes',
      facts('DaemonSet', workload({}, { numberMisscheduled: 1, desiredNumberScheduled: 1 })),
      '1 pod is on nodes that should not have one',
    ],
    [
      'a strategy that ends all pods first',
      facts('Deployment', workload({ strategy: { type: 'Recreate' } })),
      'new pods are made when all earlier ones are gone (strategy Recreate)',
    ],
    [
      'what a controller did',
      facts('Deployment', workload(), [], {
        events: [{ reason: 'DeploymentRollback', message: 'back', lastTimestamp: ago(60) }],
      }),
      '60s ago, DeploymentRollback: back',
    ],
    [
      'a budget that lets no pod go',
      facts('Deployment', workload(), [], {
        budgets: [{ metadata: { name: 'b' }, status: { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 } }],
      }),
      'poddisruptionbudget b lets no pod be evicted now (2 healthy, 2 wanted): "berth drain" waits for it',
    ],
    [
      'what controls it',
      facts('ReplicaSet', workload({}, {}, { ownerReferences: [{ kind: 'Deployment', name: 'web', controller: true }] })),
      'it is controlled by deployment/web: "berth why deployment/web" says how that stands',
    ],
  ])('is %s', (_title, of, note) => expect(notes(of)).toEqual([note]));

  it('is not what is over, or of no consequence', () => {
    const budgets = [{ metadata: { name: 'b' }, status: { disruptionsAllowed: 1 } }];
    const events = [
      { reason: 'DeploymentRollback', message: 'back', lastTimestamp: ago(7_200) },
      { reason: 'ScalingReplicaSet', message: 'up', lastTimestamp: ago(1) },
    ];
    expect(notes(facts('Deployment', workload({ minReadySeconds: 0 }), [], { budgets, events }))).toEqual([]);
  });
});

it('names some of many pods, and all when asked', () => {
  const pods = Array.from({ length: 7 }, (_, at) => crashing(`p${at}`));
  const answer = answerOf(facts('ReplicaSet', workload(), pods));
  expect(answerText(answer)).toContain('  p0, p1, p2, p3, p4 and 2 more (--all names them)\n');
  expect(answerText(answer, { all: true })).toContain('  p0, p1, p2, p3, p4, p5, p6\n');
});

it('makes what programs have written visible', () => {
  const pods = [crashing('p')];
  const answer = answerOf(facts('ReplicaSet', workload(), pods, { troubles: explained(pods, ['\u001b[2Jgone']) }));
  expect(answerText(answer)).not.toContain('\u001b');
});
