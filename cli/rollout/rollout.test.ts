import { describe, expect, it } from 'vitest';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Tree } from '../describe/json.ts';
import { pause, restart, resume } from './change.ts';
import { historyText, revisionText } from './history-text.ts';
import { revisionNumbered, revisionToUndo, undoPatch, type WorkloadRevision } from './revisions.ts';
import { RolloutStuck, rolloutStatus } from './rollout-status.ts';

const workload = (spec: Tree, status: Tree, generation = 1): Tree => ({
  metadata: { name: 'web', generation, annotations: { 'deployment.kubernetes.io/revision': '3' } },
  spec: { replicas: 3, updateStrategy: { type: 'RollingUpdate' }, ...spec },
  status: { observedGeneration: 1, ...status },
});

describe('the status of a rollout', () => {
  it.each<[string, Tree, Tree, string, boolean]>([
    [
      'Deployment',
      {},
      { updatedReplicas: 1 },
      'Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated...',
      false,
    ],
    [
      'Deployment',
      {},
      { updatedReplicas: 3, replicas: 5 },
      'Waiting for deployment "web" rollout to finish: 2 old replicas are pending termination...',
      false,
    ],
    [
      'Deployment',
      {},
      { updatedReplicas: 3, replicas: 3, availableReplicas: 2 },
      'Waiting for deployment "web" rollout to finish: 2 of 3 updated replicas are available...',
      false,
    ],
    [
      'Deployment',
      {},
      { updatedReplicas: 3, replicas: 3, availableReplicas: 3 },
      'deployment "web" successfully rolled out',
      true,
    ],
    ['Deployment', { replicas: 0 }, {}, 'deployment "web" successfully rolled out', true],
    ['Deployment', {}, { observedGeneration: 0 }, 'Waiting for deployment spec update to be observed...', false],
    [
      'DaemonSet',
      {},
      { updatedNumberScheduled: 1, desiredNumberScheduled: 2 },
      'Waiting for daemon set "web" rollout to finish: 1 out of 2 new pods have been updated...',
      false,
    ],
    [
      'DaemonSet',
      {},
      { updatedNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 1 },
      'Waiting for daemon set "web" rollout to finish: 1 of 2 updated pods are available...',
      false,
    ],
    [
      'DaemonSet',
      {},
      { updatedNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 2 },
      'daemon set "web" successfully rolled out',
      true,
    ],
    ['DaemonSet', {}, { observedGeneration: 0 }, 'Waiting for daemon set spec update to be observed...', false],
    ['StatefulSet', {}, { observedGeneration: 0 }, 'Waiting for statefulset spec update to be observed...', false],
    ['StatefulSet', {}, { readyReplicas: 1 }, 'Waiting for 2 pods to be ready...', false],
    [
      'StatefulSet',
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } },
      { readyReplicas: 3, updatedReplicas: 1 },
      'Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...',
      false,
    ],
    [
      'StatefulSet',
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: {} } },
      { readyReplicas: 3, updatedReplicas: 3 },
      'partitioned roll out complete: 3 new pods have been updated...',
      true,
    ],
    [
      'StatefulSet',
      {},
      { readyReplicas: 3, updatedReplicas: 1, currentRevision: 'web-1', updateRevision: 'web-2' },
      'waiting for statefulset rolling update to complete 1 pods at revision web-2...',
      false,
    ],
    [
      'StatefulSet',
      {},
      { readyReplicas: 3, currentReplicas: 3, currentRevision: 'web-2', updateRevision: 'web-2' },
      'statefulset rolling update complete 3 pods at revision web-2...',
      true,
    ],
  ])('of a %s with %j and %j is "%s"', (kind, spec, status, text, done) =>
    expect(rolloutStatus(kind, workload(spec, status))).toEqual({ text, done }),
  );

  it('is an error when the deadline has passed, of another revision, and without rolling updates', () => {
    const conditions = [{ type: 'Progressing', reason: 'ProgressDeadlineExceeded' }];
    const stuck = () => rolloutStatus('Deployment', workload({}, { conditions }));
    expect(stuck).toThrow(RolloutStuck);
    expect(stuck).toThrow('deployment "web" exceeded its progress deadline');
    expect(() => rolloutStatus('Deployment', workload({}, {}), 2)).toThrow(
      'desired revision (2) is different from the running revision (3)',
    );
    expect(() => rolloutStatus('DaemonSet', workload({ updateStrategy: { type: 'OnDelete' } }, {}))).toThrow(
      'rollout status is only available for RollingUpdate strategy type',
    );
  });
});

const template = (image: string): Tree => ({
  metadata: { labels: { app: 'web', 'pod-template-hash': 'x' } },
  spec: { containers: [{ name: 'c', image }] },
});
const revision = (number: number, changeCause = '', annotations: JsonObject = {}): WorkloadRevision => ({
  number,
  changeCause,
  template: template(`i:${number}`),
  object: { metadata: { annotations } },
});

describe('the history of rollouts', () => {
  it('has a line for each revision, and shows the template of one', () => {
    expect(historyText([revision(9), revision(10, 'set the image\nmore')])).toBe(
      'REVISION  CHANGE-CAUSE\n9         <none>\n10        set the image\n',
    );
    expect(historyText([])).toBe('No rollout history found.\n');
    const shown = revisionText(revision(2, 'because'));
    expect(shown).toMatch(/^Pod Template:\n {2}Labels: +app=web\n/);
    expect(shown).toContain('kubernetes.io/change-cause: because');
    expect(shown).toMatch(/Containers:\n {4}c:\n {6}Image: +i:2\n/);
  });

  it('is gone back in by one revision, or to the one that is named', () => {
    const all = [revision(1), revision(3), revision(4)];
    expect(revisionToUndo(all, 0, 'x').number).toBe(3);
    expect(revisionToUndo(all, 1, 'x').number).toBe(1);
    expect(() => revisionToUndo([revision(1)], 0, 'deployment "web"')).toThrow('no rollout history found for deployment "web"');
    expect(() => revisionNumbered(all, 2)).toThrow('unable to find specified revision 2 in history; there are 1, 3, 4');
  });
});

describe('going back', () => {
  it('takes the template without its hash, and the annotations that the revision had', () => {
    const kind = kindNamed('Deployment');
    const object: JsonObject = {
      metadata: { uid: 'u', annotations: { 'deployment.kubernetes.io/revision': '4', since: 'now', both: 'new' } },
      spec: {
        template: { metadata: { labels: { app: 'web', extra: 'x' } }, spec: { hostname: 'h', containers: [{ name: 'd' }] } },
      },
    };
    const then = revision(2, '', { 'deployment.kubernetes.io/revision': '2', both: 'old', early: 'yes' });
    expect(strategicMerge(kind.message, object, undoPatch(kind, object, then))).toEqual({
      metadata: { uid: 'u', annotations: { 'deployment.kubernetes.io/revision': '4', both: 'old', early: 'yes' } },
      spec: { template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i:2' }] } } },
    });
  });

  it('changes nothing but the template of other workloads', () =>
    expect(undoPatch({ kind: 'StatefulSet' }, { metadata: { uid: 'u', annotations: { a: 'b' } } }, revision(2))).toMatchObject({
      metadata: { uid: 'u' },
      spec: { template: { $patch: 'replace' } },
    }));
});

describe('pause, resume and restart', () => {
  const now = new Date('2026-01-02T03:04:05.678Z');
  const at = { 'kubectl.kubernetes.io/restartedAt': '2026-01-02T03:04:05Z' };

  it('patch the spec', () => {
    expect(pause.patch({}, 'x')).toEqual({ spec: { paused: true } });
    expect(resume.patch({ spec: { paused: true } }, 'x')).toEqual({ spec: { paused: null } });
    expect(restart(now).patch({}, 'x')).toEqual({ spec: { template: { metadata: { annotations: at } } } });
  });

  it.each([
    ['x is already paused', () => pause.patch({ spec: { paused: true } }, 'x')],
    ['x is not paused', () => resume.patch({}, 'x')],
    ["x can't restart paused deployment (run rollout resume first)", () => restart(now).patch({ spec: { paused: true } }, 'x')],
    [
      'x was restarted within the past second already',
      () => restart(now).patch({ spec: { template: { metadata: { annotations: at } } } }, 'x'),
    ],
  ])('say: %s', (message, act) => expect(act).toThrow(message));
});
