import { expect, it } from 'vitest';
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
