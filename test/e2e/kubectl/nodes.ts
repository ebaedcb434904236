import { expect, it } from 'vitest';
import type { Kubectl } from './session.ts';

/** `taint`, `cordon`, `drain` and `uncordon`: other pods find no node meanwhile. */
export function nodes(into: (namespace: string) => Promise<Kubectl>): void {
  it('taint, cordon, drain and uncordon keep pods from a node and bring them back', async () => {
    const k = await into('nodes');
    const node = k.nodeName;
    expect(await k.ok('get nodes')).toMatch(/^NAME +STATUS +ROLES +AGE +VERSION\n\S+ +Ready +/);
    expect(await k.ok('get nodes -o wide')).toMatch(/CONTAINER-RUNTIME.*\n.* docker:\/\//);
    expect(await k.ok(`taint node ${node} color=red:NoSchedule`)).toBe(`node/${node} tainted\n`);
    expect(await k.ok(`taint node ${node} color=blue:NoSchedule --overwrite`)).toBe(`node/${node} modified\n`);
    expect(await k.ok(`taint node ${node} color-`)).toBe(`node/${node} untainted\n`);
    const command = ['--', 'sh', '-c', 'trap exit TERM; sleep 3600 & wait'];
    await k.ok('create deployment drained --image=berth/busybox --replicas=2', ...command);
    await k.ok('run lone --image=berth/busybox --image-pull-policy=Never', ...command);
    await k.ok('wait --for=condition=available deployment/drained --timeout=120s');
    await k.ok('wait --for=condition=Ready pod/lone --timeout=120s');
    expect(await k.ok(`cordon ${node}`)).toBe(`node/${node} cordoned\n`);
    expect(await k.ok(`cordon ${node}`)).toBe(`node/${node} already cordoned\n`);
    expect(await k.ok('get nodes')).toMatch(/Ready,SchedulingDisabled/);
    expect(await k.fails(`drain ${node} --ignore-daemonsets`)).toContain('nodes/lone');
    await k.ok('create poddisruptionbudget most --selector=app=drained --max-unavailable=1');
    expect(await k.fails(`drain ${node} --force --dry-run=server --pod-selector=nothing=here --timeout=nonsense`)).toContain(
      'invalid',
    );
    await k.ok('delete pdb most');
    const drained = await k.ok(`drain ${node} --ignore-daemonsets --force --delete-emptydir-data --timeout=120s`);
    expect(drained).toMatch(/pod\/lone evicted\n/);
    expect(drained.match(/pod\/drained-\S+ evicted\n/g)).toHaveLength(2);
    expect(await k.ok('get pods -o', 'jsonpath={.items[*].status.phase}')).toBe('Pending Pending');
    expect(await k.ok(`uncordon ${node}`)).toBe(`node/${node} uncordoned\n`);
    expect(await k.ok('rollout status deployment/drained --timeout=120s')).toMatch(/successfully rolled out\n$/);
    await k.ok('delete deployment drained');
  });
}
