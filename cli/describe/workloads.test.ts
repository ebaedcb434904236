import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Session } from '../session.ts';
import { describerOf } from './index.ts';
import type { Tree } from './json.ts';
import { createLines } from './lines.ts';

const now = new Date(Date.UTC(2026, 0, 1, 12));
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000).toISOString();

/** The description of an object, where the server has these others; and what stands behind the events. */
async function described(
  kind: string,
  object: Tree,
  others: Readonly<Record<string, readonly JsonObject[]>> = {},
  tail: string[] = [],
) {
  const objects = { list: async (name: string) => ({ metadata: {}, items: others[name] ?? [] }) };
  const context = {
    session: { client: { objects } } as unknown as Session,
    now,
    logTails: { read: async () => tail },
  };
  const write = await describerOf(kind)(object, context);
  const [lines, end] = [createLines(), createLines()];
  write(lines);
  write.afterEvents?.(end);
  return { text: lines.text(), end: end.text() };
}

const labels = { app: 'web' };
const metadata = { name: 'web', namespace: 'default', uid: 'w', labels, creationTimestamp: ago(3_600) };
const template = {
  metadata: { labels },
  spec: { containers: [{ name: 'c', image: 'i:2', ports: [{ containerPort: 80, protocol: 'TCP' }] }] },
};
const owned = (owner: string, kind = 'ReplicaSet') => [{ kind, name: owner, uid: owner, controller: true }];
const crashing = { waiting: { reason: 'CrashLoopBackOff' } };
const pod = (name: string, owner: string, status: JsonObject): JsonObject => ({
  metadata: { name, namespace: 'default', uid: name, ownerReferences: owned(owner) },
  spec: { nodeName: 'n1', containers: [{ name: 'c' }] },
  status,
});
const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const crashed = {
  phase: 'Running',
  containerStatuses: [{ name: 'c', state: crashing, lastState: { terminated: { exitCode: 1 } }, restartCount: 3 }],
};

describe('the description of a Deployment', () => {
  const set = (name: string, image: string, replicas: number): JsonObject => ({
    metadata: { name, uid: name, ownerReferences: owned('w', 'Deployment'), creationTimestamp: ago(60) },
    spec: { replicas, template: { ...template, spec: { containers: [{ ...template.spec.containers[0]!, image }] } } },
    status: { replicas },
  });
  const deployment = {
    metadata: { ...metadata, annotations: { 'deployment.kubernetes.io/revision': '2' } },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 1 } },
      template,
    },
    status: {
      replicas: 4,
      updatedReplicas: 2,
      availableReplicas: 2,
      unavailableReplicas: 2,
      conditions: [{ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' }],
    },
  };

  it('has what it wants and has, its template, and its ReplicaSets', async () => {
    const { text, end } = await described('Deployment', deployment, {
      ReplicaSet: [set('web-a', 'i:1', 2), set('web-b', 'i:2', 2)],
    });
    expect(text).toMatch(
      /^Name: +web\nNamespace: +default\nCreationTimestamp: +Thu, 01 Jan 2026 11:00:00 \+0000\nLabels: +app=web\n/,
    );
    expect(text).toMatch(/Selector: +app=web\nReplicas: +3 desired \| 2 updated \| 4 total \| 2 available \| 2 unavailable\n/);
    expect(text).toMatch(
      /StrategyType: +RollingUpdate\nMinReadySeconds: +0\nRollingUpdateStrategy: +25% max unavailable, 1 max surge\n/,
    );
    expect(text).toMatch(/Pod Template:\n {2}Labels: +app=web\n {2}Containers:\n {4}c:\n {6}Image: +i:2\n {6}Port: +80\/TCP\n/);
    expect(text).toMatch(
      /Conditions:\n +Type +Status +Reason\n +---- +------ +------\n +Available +True +MinimumReplicasAvailable\n/,
    );
    expect(text).toMatch(/OldReplicaSets: +web-a \(2\/2 replicas created\)\nNewReplicaSet: +web-b \(2\/2 replicas created\)\n$/);
    expect(end).toBe('');
  });

  it('gathers behind the events why its pods are not up, with their last lines', async () => {
    const { end } = await described(
      'Deployment',
      deployment,
      {
        ReplicaSet: [set('web-b', 'i:2', 2)],
        Pod: [pod('b1', 'web-b', crashed), pod('b2', 'web-b', crashed), pod('b3', 'web-b', running), pod('x', 'other', crashed)],
      },
      ['panic: no database'],
    );
    expect(end).toBe(
      [
        'Pods in Trouble:',
        '  2 pods with container "c" that ended with exit code 1, restarted up to 3 times:',
        '    b1, b2',
        '    Last Log Lines of b1, container c:',
        '      panic: no database',
        '',
      ].join('\n'),
    );
  });
});

const workload = (spec: Tree, status: Tree = {}): Tree => ({
  metadata,
  spec: { selector: { matchLabels: labels }, template, ...spec },
  status,
});

it('describes ReplicaSets and ReplicationControllers with the states of their pods', async () => {
  const pods = [pod('a', 'w', running), pod('b', 'w', { phase: 'Pending' })];
  const { text } = await described('ReplicaSet', workload({ replicas: 2 }, { replicas: 2 }), { Pod: pods });
  expect(text).toMatch(
    /Replicas: +2 current \/ 2 desired\nPods Status: +1 Running \/ 1 Waiting \/ 0 Succeeded \/ 0 Failed\nPod Template:/,
  );
  const controller = workload({ replicas: 1, selector: labels });
  expect((await described('ReplicationController', controller)).text).toMatch(/Selector: +app=web\nLabels: +app=web\n/);
});

it('describes a StatefulSet with its partition and its claims', async () => {
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const spec = {
    replicas: 3,
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
    volumeClaimTemplates: [claim],
  };
  const { text } = await described('StatefulSet', workload(spec, { replicas: 2 }));
  expect(text).toMatch(
    /Replicas: +3 desired \| 2 total\nUpdate Strategy: +RollingUpdate\n {2}Partition: +1\nPods Status: +0 Running/,
  );
  expect(text).toMatch(/Volume Claims:\n {2}Name: +data\n[\s\S]* {2}Capacity: +1Gi\n {2}Access Modes: +ReadWriteOnce\n/);
});

it('describes a DaemonSet with its numbers of nodes', async () => {
  const { text } = await described('DaemonSet', workload({}, { desiredNumberScheduled: 3, numberAvailable: 2 }));
  expect(text).toContain('Desired Number of Nodes Scheduled: 3\n');
  expect(text).toContain('Number of Nodes Scheduled with Available Pods: 2\nNumber of Nodes Misscheduled: 0\nPods Status:');
});

it('describes a Job with how far it is', async () => {
  const spec = { parallelism: 2, completions: 5, completionMode: 'Indexed', backoffLimit: 6, activeDeadlineSeconds: 30 };
  const status = { active: 1, ready: 1, succeeded: 3, startTime: ago(90), completionTime: ago(10), completedIndexes: '0-2' };
  const { text } = await described('Job', workload(spec, status));
  expect(text).toMatch(/Parallelism: +2\nCompletions: +5\nCompletion Mode: +Indexed\nSuspend: +false\nBackoff Limit: +6\n/);
  expect(text).toMatch(
    /Duration: +80s\nActive Deadline Seconds: +30s\nPods Statuses: +1 Active \(1 Ready\) \/ 3 Succeeded \/ 0 Failed\n/,
  );
  expect(text).toMatch(/Completed Indexes: +0-2\nPod Template:/);
});

it('describes a CronJob with its schedule, and what is wrong with pods of its jobs', async () => {
  const cronJob = {
    metadata,
    spec: { schedule: '0 * * * *', concurrencyPolicy: 'Forbid', failedJobsHistoryLimit: 1, jobTemplate: { spec: { template } } },
    status: { active: [{ name: 'web-1' }] },
  };
  const job = { metadata: { name: 'web-1', uid: 'j1', ownerReferences: owned('w', 'CronJob') } };
  const { text, end } = await described('CronJob', cronJob, { Job: [job], Pod: [pod('p', 'j1', crashed)] });
  expect(text).toMatch(/Schedule: +0 \* \* \* \*\nConcurrency Policy: +Forbid\nSuspend: +False\nTime Zone: +<unset>\n/);
  expect(text).toMatch(/Last Schedule Time: +<unset>\nActive Jobs: +web-1\n$/);
  expect(end).toMatch(/^Pods in Trouble:\n {2}1 pod with container "c"/);
});

it('describes an autoscaler with its metrics as they are and should be', async () => {
  const target = (more: Tree) => ({ type: 'Utilization', ...more });
  const spec = {
    scaleTargetRef: { kind: 'Deployment', name: 'web' },
    minReplicas: 1,
    maxReplicas: 4,
    metrics: [
      { type: 'Resource', resource: { name: 'cpu', target: target({ averageUtilization: 80 }) } },
      { type: 'Resource', resource: { name: 'memory', target: target({ averageValue: '1Gi' }) } },
      { type: 'Pods', pods: { metric: { name: 'rate' }, target: target({ averageValue: '10' }) } },
      { type: 'External', external: { metric: { name: 'queue' }, target: target({ value: '5' }) } },
    ],
    behavior: { scaleDown: { stabilizationWindowSeconds: 60, policies: [{ type: 'Percent', value: 50, periodSeconds: 15 }] } },
  };
  const currentMetrics = [{ resource: { current: { averageUtilization: 12, averageValue: '30m' } } }];
  const status = { currentReplicas: 2, desiredReplicas: 3, currentMetrics };
  const { text } = await described('HorizontalPodAutoscaler', { metadata, spec, status });
  expect(text).toMatch(/Reference: +Deployment\/web\nMetrics: +\( current \/ target \)\n/);
  expect(text).toMatch(/ {2}resource cpu on pods {2}\(as a percentage of request\): +12% \(30m\) \/ 80%\n/);
  expect(text).toMatch(/ {2}resource memory on pods: +<unknown> \/ 1Gi\n {2}"rate" on pods: +<unknown> \/ 10\n/);
  expect(text).toMatch(/ {2}"queue" \(target value\): +<unknown> \/ 5\nMin replicas: +1\nMax replicas: +4\n/);
  expect(text).toContain('  Scale Down:\n    Stabilization Window: 60 seconds\n    Select Policy: Max\n    Policies:\n');
  expect(text).toMatch(/Deployment pods: +2 current \/ 3 desired\n/);
});

it('describes quotas and limit ranges in tables', async () => {
  const quota = { metadata, spec: { scopes: ['BestEffort'] }, status: { hard: { pods: '10', cpu: '4' }, used: { pods: '2' } } };
  const { text } = await described('ResourceQuota', quota);
  expect(text).toMatch(/Scopes: +BestEffort\n \* Matches all pods that do not have resource/);
  expect(text).toMatch(/\nResource {2}Used {2}Hard\n-------- {2}---- {2}----\ncpu +0 +4\npods +2 +10\n$/);
  expect((await described('ResourceQuota', { metadata, spec: { hard: { pods: '1' } } })).text).toMatch(/\npods +0 +1\n$/);
  const limits = [{ type: 'Container', max: { cpu: '2' }, default: { cpu: '1', memory: '1Gi' } }];
  const range = await described('LimitRange', { metadata, spec: { limits } });
  expect(range.text).toMatch(/\nType +Resource +Min +Max +Default Request +Default Limit +Max Limit\/Request Ratio\n/);
  expect(range.text).toMatch(/\nContainer +cpu +- +2 +- +1 +-\nContainer +memory +- +- +- +1Gi +-\n$/);
  expect((await described('LimitRange', { metadata })).text).toMatch(/\nType +Resource +Min/);
});

it('describes revisions and templates with the template that they hold', async () => {
  const revision = {
    metadata: { ...metadata, ownerReferences: owned('s', 'StatefulSet') },
    revision: 3,
    data: { spec: { template } },
  };
  const { text } = await described('ControllerRevision', revision);
  expect(text).toMatch(/Controlled By: +StatefulSet\/s\nRevision: +3\nPod Template:\n[\s\S]*Image: +i:2\n/);
  expect((await described('ControllerRevision', { metadata, data: { x: 1 } })).text).toMatch(/Revision: +0\nData: +{"x":1}\n$/);
  expect((await described('PodTemplate', { metadata, template })).text).toMatch(/Pod Template:\n {2}Labels: +app=web\n/);
});
