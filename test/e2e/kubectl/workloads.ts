import { expect, it } from 'vitest';
import { eventually } from '../installation.ts';
import type { Kubectl } from './session.ts';

const sleeps = ['--', 'sh', '-c', 'trap exit TERM; sleep 3600 & wait'];
const timeout = '--timeout=120s';

/** `rollout`, `scale` and `wait`, with pods that run. */
export function workloads(into: (namespace: string) => Promise<Kubectl>): void {
  it('rollout follows, pauses, restarts and undoes what a deployment does', async () => {
    const k = await into('rollout');
    await k.ok('create deployment web --image=berth/busybox --replicas=2', ...sleeps);
    expect(await k.ok(`rollout status deployment/web ${timeout}`)).toMatch(/deployment "web" successfully rolled out\n$/);
    await k.ok('set env deployment/web VERSION=2');
    await k.ok('annotate deployment/web', 'kubernetes.io/change-cause=the second');
    expect(await k.ok(`rollout status deployment web ${timeout}`)).toMatch(/successfully rolled out\n$/);
    const history = await k.ok('rollout history deployment/web');
    expect(history).toMatch(/^deployment\.apps\/web *\nREVISION +CHANGE-CAUSE\n1 +<none>\n2 +the second\n/);
    expect(await k.ok('rollout history deployment/web --revision=2')).toMatch(/VERSION:\s*2\n/);
    expect(await k.ok('rollout undo deployment/web')).toBe('deployment.apps/web rolled back\n');
    expect(await k.ok('get deployment web -o', 'jsonpath={.spec.template.spec.containers[0].env}')).toBe('');
    expect(await k.ok('rollout undo deployment/web --to-revision=2')).toBe('deployment.apps/web rolled back\n');
    expect(await k.fails('rollout undo deployment/web --to-revision=99')).toContain('unable to find specified revision 99');
    expect(await k.ok('rollout pause deployment/web')).toBe('deployment.apps/web paused\n');
    expect(await k.fails('rollout restart deployment/web')).toContain('paused');
    expect(await k.ok('rollout resume deployment/web')).toBe('deployment.apps/web resumed\n');
    expect(await k.ok('rollout restart deployment/web')).toBe('deployment.apps/web restarted\n');
    expect(await k.ok(`rollout status deployment/web ${timeout}`)).toMatch(/successfully rolled out\n$/);
    const restarted = '-o=jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}';
    expect(await k.ok('get deployment web', restarted)).toMatch(/^20\d\d-/);
    await k.ok('delete deployment web');
  });

  it('rollout follows stateful sets and daemon sets', async () => {
    const k = await into('rollout-sets');
    const spec = (labels: object): object => ({
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'main', image: 'berth/busybox', command: ['sh', '-c', 'trap exit TERM; sleep 3600 & wait'] }],
        },
      },
    });
    const set = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db' },
      spec: { ...spec({ app: 'db' }), serviceName: 'db' },
    };
    const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent' }, spec: spec({ app: 'agent' }) };
    const both = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [set, daemon] });
    expect(await k.pipe(both, 'apply -f -')).toBe('statefulset.apps/db created\ndaemonset.apps/agent created\n');
    expect(await k.ok(`rollout status statefulset/db ${timeout}`)).toMatch(/(rolling update complete|roll out complete)/);
    expect(await k.ok(`rollout status daemonset/agent ${timeout}`)).toMatch(/daemon set "agent" successfully rolled out\n$/);
    expect(await k.ok('rollout restart statefulset/db daemonset/agent')).toBe(
      'statefulset.apps/db restarted\ndaemonset.apps/agent restarted\n',
    );
    expect(await k.ok(`rollout status daemonset/agent ${timeout}`)).toMatch(/successfully rolled out\n$/);
    expect(await k.ok(`rollout status statefulset/db ${timeout}`)).toMatch(/(rolling update complete|roll out complete)/);
    expect(await k.ok('rollout history daemonset/agent')).toMatch(/REVISION +CHANGE-CAUSE\n1 +<none>\n2 +<none>\n/);
    expect(await k.ok('rollout history statefulset/db')).toMatch(/\n1 .*\n2 /);
    expect(await k.ok('rollout undo daemonset/agent --to-revision=1')).toBe('daemonset.apps/agent rolled back\n');
    expect(await k.ok('get statefulsets,daemonsets')).toMatch(
      /statefulset\.apps\/db +1\/1 +(.|\n)*daemonset\.apps\/agent +1 +1 +/,
    );
    expect(await k.ok('get controllerrevisions -o name')).toMatch(/controllerrevision\.apps\/(agent|db)-/);
    expect(await k.ok('describe statefulset db')).toMatch(/Pods Status: +1 Running \/ 0 Waiting/);
    expect(await k.ok('scale statefulset/db --replicas=0')).toBe('statefulset.apps/db scaled\n');
    expect(await k.ok('delete statefulset/db daemonset/agent')).toMatch(/"db" deleted\n/);
  });

  it('scale and wait change and await numbers and conditions', async () => {
    const k = await into('scale');
    await k.ok('create deployment web --image=berth/busybox', ...sleeps);
    expect(await k.ok('scale deployment/web --replicas=2')).toBe('deployment.apps/web scaled\n');
    expect(await k.fails('scale deployment/web --replicas=3 --current-replicas=7')).toContain('Expected replicas to be 7, was 2');
    expect(await k.ok('scale deployment/web --replicas=3 --current-replicas=2')).toBe('deployment.apps/web scaled\n');
    expect(await k.ok(`wait --for=condition=Available=True deployment/web ${timeout}`)).toBe(
      'deployment.apps/web condition met\n',
    );
    await k.ok(`rollout status deployment/web ${timeout}`);
    expect(await k.ok('get replicaset -l app=web -o', 'jsonpath={.items[0].status.readyReplicas}')).toBe('3');
    if (k.minor >= 23) {
      const reached = await k.ok(`wait deployment/web ${timeout} --for`, 'jsonpath={.status.readyReplicas}=3');
      expect(reached).toBe('deployment.apps/web condition met\n');
    }
    expect(await k.fails('wait --for=condition=Available=False deployment/web --timeout=1s')).toBe(
      'error: timed out waiting for the condition on deployments/web\n',
    );
    await k.ok('scale deployment --all --replicas=0');
    await eventually('no pod is left', async () => ((await k.ok('get pods -l app=web -o name')) === '' ? true : undefined));
    expect(await k.fails('scale deployment/nothing --replicas=1')).toMatch(/"nothing".* not found|no objects passed to scale/);
    await k.ok('delete deployment web');
  });
}
