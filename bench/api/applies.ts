import type { JsonObject } from '../../client/index.ts';
import { atMost, type Figure, median, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { loadTarget } from './h2load.ts';
import { withApiServer } from './lean-connection.ts';

const ROUNDS = 5;
const CALLS = 400;
const WARM_UP = 300;

/** Of a merge patch that says the same. */
const MOST_UNCHANGED = 1.5;
const MOST_CHANGED = 3;

const target = { namespace: 'default', name: 'web' };
const options = { fieldManager: 'bench' };

/** A Deployment as people write them: two containers, probes, resources, variables, a volume. */
export function configuration(note: string): JsonObject {
  const container = (name: string, port: number): JsonObject => ({
    name,
    image: `example.com/${name}:1.0`,
    args: ['--port', String(port)],
    ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
    env: [
      { name: 'MODE', value: 'production' },
      { name: 'SECRET', valueFrom: { secretKeyRef: { name: 'web', key: 'token' } } },
    ],
    resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
    readinessProbe: { httpGet: { path: '/ready', port }, periodSeconds: 5 },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  });
  const labels = { app: 'web', tier: 'front' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...target, labels, annotations: { note } },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels },
        spec: { containers: [container('web', 8080), container('side', 9090)], volumes: [{ name: 'data', emptyDir: {} }] },
      },
    },
  };
}

/**
 * Server-side applies of a Deployment against merge patches with the same content, one after the other: the server's
 * processor time for a call that changes nothing, and for one that changes an annotation.
 */
export function benchApplies(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    const { objects } = server.client;
    const { pid } = loadTarget(server);
    // The merge patches made the fields another manager's: those of updates.
    const apply = (value: string) => objects.apply('Deployment', configuration(value), { ...options, force: true });
    const patch = (value: string) => objects.patch('Deployment', target, configuration(value), options);
    const cost = async (call: (value: string) => Promise<unknown>, calls: number, changes: boolean): Promise<number> => {
      const before = cpuSeconds([pid]);
      for (let i = 0; i < calls; i++) await call(changes ? String(i % 2) : 'same');
      return ((cpuSeconds([pid]) - before) / calls) * 1e6;
    };
    await apply('same');
    const costs = { unchanged: [[], []] as number[][], changed: [[], []] as number[][] };
    for (let round = 0; round <= ROUNDS; round++)
      for (const kind of ['changed', 'unchanged'] as const)
        for (const [i, call] of [patch, apply].entries()) {
          const found = await cost(call, round === 0 ? WARM_UP : CALLS, kind === 'changed');
          if (round > 0) costs[kind][i]!.push(found);
        }
    const [unchangedPatch, unchangedApply] = costs.unchanged.map(median) as [number, number];
    const [changedPatch, changedApply] = costs.changed.map(median) as [number, number];
    say(`unchanged: apply ${unchangedApply.toFixed(0)} us, patch ${unchangedPatch.toFixed(0)} us`);
    say(`changed: apply ${changedApply.toFixed(0)} us, patch ${changedPatch.toFixed(0)} us`);
    return [
      atMost('apply of an unchanged Deployment, against a merge patch', unchangedApply / unchangedPatch, 'x', MOST_UNCHANGED),
      atMost('apply of a changed Deployment, against a merge patch', changedApply / changedPatch, 'x', MOST_CHANGED),
      note("server's processor for an apply of an unchanged Deployment", unchangedApply, 'microseconds'),
      note("server's processor for a merge patch of it", unchangedPatch, 'microseconds'),
      note("server's processor for an apply of a changed Deployment", changedApply, 'microseconds'),
      note("server's processor for such a merge patch", changedPatch, 'microseconds'),
    ];
  });
}
