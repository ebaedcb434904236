import { describe, expect, it } from 'vitest';
import type { Deployment, Pod, ReplicaSet } from '../../api/generated/types.ts';
import { workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';
import type { Informer } from '../../client/index.ts';
import { AutoRollback } from './auto-rollback.ts';

const setOf = (name: string): ReplicaSet => ({
  metadata: { namespace: 'a', name, uid: name, labels: { [workloadLabels.podTemplateHash]: name } },
});
const failing: Pod = {
  metadata: { namespace: 'a', name: 'web-1' },
  status: { phase: 'Running', containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 1, reason: 'Error' } } }] },
};

it('a rollback by itself reads no more of a log without ends of lines than it has use for', async () => {
  let read = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; read < 1_000; read++) yield Buffer.alloc(64 * 1024, 'x');
  }
  const told: string[] = [];
  const rollback = new AutoRollback({
    pods: { lister: { byIndex: () => [failing] } } as unknown as Informer<Pod>,
    logs: { get: async () => failing, logs: () => endless() } as never,
    events: { event: (_about, _type, reason, message) => void told.push(`${reason} ${message.length}`) },
  });
  const deployment: Deployment = {
    metadata: { namespace: 'a', name: 'web', annotations: { [workloadAnnotations.rollbackOnDeadline]: 'true' } },
  };
  const next = await rollback.decide({
    deployment,
    family: { current: setOf('two'), old: [setOf('one')] },
    conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
    about: { kind: 'Deployment', name: 'web' },
    signal: new AbortController().signal,
  });
  expect(next?.metadata?.annotations?.[workloadAnnotations.rolledBackTo]).toBe('one');
  expect(read).toBeLessThan(10);
  expect(told).toEqual([expect.stringMatching(/^DeploymentRollback 6\d\d$/)]);
});

describe('the event of a rollback by itself', () => {
  const notReady = { metadata: { namespace: 'a', name: 'web-1' }, status: { phase: 'Pending' } };
  const unschedulable: Pod = {
    ...notReady,
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' }],
    },
  };
  const leaving: Pod = { metadata: { ...failing.metadata, name: 'web-0', deletionTimestamp: { seconds: 1 } } };
  const refused: ReplicaSet = {
    ...setOf('two'),
    status: { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: q' }] },
  };

  it.each<[string, readonly Pod[], ReplicaSet, string]>([
    ['why a pod has no node', [unschedulable], setOf('two'), 'pod web-1 has no node, Unschedulable: 0/3 nodes are available'],
    ['why no pod can be made', [], refused, 'exceeded quota: q'],
    ['that a pod is not ready where nothing else is known', [notReady], setOf('two'), 'pod web-1 is not ready'],
    ['what keeps a pod that stays, and not one that goes', [leaving, notReady], setOf('two'), 'pod web-1 is not ready'],
  ])('says %s', async (_, pods, current, why) => {
    const told: string[] = [];
    const rollback = new AutoRollback({
      pods: { lister: { byIndex: () => pods } } as unknown as Informer<Pod>,
      logs: { get: async ({ name }: { name: string }) => pods.find(({ metadata }) => metadata?.name === name) } as never,
      events: { event: (_about, _type, _reason, message) => void told.push(message) },
    });
    await rollback.decide({
      deployment: {
        metadata: { namespace: 'a', name: 'web', annotations: { [workloadAnnotations.rollbackOnDeadline]: 'true' } },
      },
      family: { current, old: [setOf('one')] },
      conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
      about: { kind: 'Deployment', name: 'web' },
      signal: new AbortController().signal,
    });
    expect(told).toEqual([`Rolled back from replica set two to one (revision 0): ${why}`]);
  });
});
