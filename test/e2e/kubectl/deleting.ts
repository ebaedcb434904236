import { expect, it } from 'vitest';
import { eventually } from '../installation.ts';
import { type Kubectl, notFound } from './session.ts';

const sleeps = ['--', 'sh', '-c', 'trap exit TERM; sleep 3600 & wait'];
const image = '--image=berth/busybox --image-pull-policy=Never';

/** `delete` in its forms, and `wait` for the end of an object. */
export function deleting(into: (namespace: string) => Promise<Kubectl>): void {
  it('delete takes names, labels, fields, files and all', async () => {
    const k = await into('delete');
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await k.ok(`create configmap ${name}`);
    await k.ok('label configmap c d set=x');
    expect(await k.ok('delete configmap a b')).toBe('configmap "a" deleted\nconfigmap "b" deleted\n');
    expect(await k.ok('delete configmap -l set=x')).toBe('configmap "c" deleted\nconfigmap "d" deleted\n');
    const file = k.file('e.json', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e"}}');
    expect(await k.ok('delete --dry-run=server -f', file)).toBe('configmap "e" deleted (server dry run)\n');
    expect(await k.ok('delete -o name -f', file)).toBe('configmap/e\n');
    expect(await k.fails('delete -f', file)).toMatch(notFound('e'));
    expect(await k.ok('delete --ignore-not-found -f', file)).toBe('');
    expect(await k.ok('delete configmap --field-selector metadata.name=f')).toBe('configmap "f" deleted\n');
    await k.ok('create configmap g');
    expect(await k.ok('delete configmap,secret --all')).toContain('configmap "g" deleted\n');
    expect(await k.fails('delete configmap a')).toMatch(notFound('a'));
  });

  it('delete waits for a pod to end, or not, or ends it by force', async () => {
    const k = await into('delete-pods');
    for (const name of ['slow', 'fast', 'forced']) await k.ok(`run ${name} ${image}`, ...sleeps);
    await k.ok('wait --for=condition=Ready pod --all --timeout=120s');
    // It has to find the pod: what is gone before cannot be waited for.
    const waiting = k.start('wait --for=delete pod/slow --timeout=60s -v=6');
    await waiting.until(/pods\/slow\W.*200 OK/);
    expect(await k.ok('delete pod slow --wait=false')).toBe('pod "slow" deleted\n');
    expect(await waiting.end()).toMatchObject({ code: 0, stdout: 'pod/slow condition met\n' });
    expect(await k.ok('delete pod fast --now')).toBe('pod "fast" deleted\n');
    const forced = await k.run('delete pod forced --grace-period=0 --force');
    expect(forced).toMatchObject({
      code: 0,
      stdout: 'pod "forced" force deleted\n',
      stderr: expect.stringContaining('Immediate deletion does not wait for confirmation'),
    });
    expect(await k.ok('get pods -o name')).toBe('');
  });

  it('delete --cascade takes what depends along, before, after or not at all', async () => {
    const k = await into('delete-cascade');
    for (const name of ['orphaned', 'followed', 'first'])
      await k.ok(`create deployment ${name} --image=berth/busybox`, ...sleeps);
    await k.ok('wait --for=condition=available deployment --all --timeout=120s');
    expect(await k.ok('delete deployment orphaned --cascade=orphan')).toBe('deployment.apps "orphaned" deleted\n');
    expect(await k.ok('delete deployment first --cascade=foreground')).toBe('deployment.apps "first" deleted\n');
    expect(await k.ok('get replicasets,pods -l app=first -o name')).toBe('');
    expect(await k.ok('delete deployment followed --cascade=background')).toBe('deployment.apps "followed" deleted\n');
    await eventually('what depended is gone', async () => {
      const left = await k.ok('get replicasets,pods -l app=followed -o name');
      return left === '' ? true : undefined;
    });
    const kept = await k.ok(
      'get replicasets -l app=orphaned -o',
      'jsonpath={.items[0].metadata.ownerReferences}{.items[0].spec.replicas}',
    );
    expect(kept).toBe('1');
    expect(await k.ok('delete replicaset --all')).toMatch(/^replicaset\.apps "orphaned-.*" deleted\n$/);
  });

  it('delete takes a namespace with all that is in it', async () => {
    const k = await into('delete-namespace');
    await k.ok('create configmap a');
    await k.ok(`run web ${image}`, ...sleeps);
    expect(await k.ok('delete namespace delete-namespace --timeout=120s')).toBe('namespace "delete-namespace" deleted\n');
    expect(await k.fails('get namespace delete-namespace')).toMatch(notFound('delete-namespace'));
    expect(await k.ok('get pods,configmaps -o name')).toBe('');
    expect(await k.fails('create configmap late')).toMatch(notFound('delete-namespace'));
  });
}
