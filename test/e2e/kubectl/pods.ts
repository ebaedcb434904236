import { expect, it } from 'vitest';
import { eventually } from '../installation.ts';
import type { Kubectl } from './session.ts';

const image = '--image=berth/busybox --image-pull-policy=Never';

/** `logs` and `run`, with containers that run. */
export function pods(into: (namespace: string) => Promise<Kubectl>): void {
  it('logs prints what containers wrote, from where it is asked', async () => {
    const k = await into('logs');
    const script = 'for n in 1 2 3; do echo line $n; done; trap exit TERM; sleep 3600 & wait';
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'two', labels: { app: 'two' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          { name: 'main', image: 'berth/busybox', imagePullPolicy: 'Never', command: ['sh', '-c', script] },
          {
            name: 'side',
            image: 'berth/busybox',
            imagePullPolicy: 'Never',
            command: ['sh', '-c', `echo from the side; ${script}`],
          },
        ],
      },
    };
    await k.pipe(JSON.stringify(pod), 'create -f -');
    await k.ok('wait --for=condition=Ready pod/two --timeout=120s');
    await eventually('all lines', async () => (/line 3/.test(await k.ok('logs two -c side')) ? true : undefined));
    const lines = 'line 1\nline 2\nline 3\n';
    expect(await k.ok('logs two -c main')).toBe(lines);
    expect(await k.ok('logs pod/two -c main --tail=1')).toBe('line 3\n');
    expect(await k.ok('logs two side')).toBe(`from the side\n${lines}`);
    // kubectl reads the containers in no order.
    expect([`${lines}from the side\n${lines}`, `from the side\n${lines}${lines}`]).toContain(
      await k.ok('logs two --all-containers'),
    );
    const last = await k.ok('logs two --all-containers --prefix --tail=1');
    expect(last.trim().split('\n').sort()).toEqual(['[pod/two/main] line 3', '[pod/two/side] line 3']);
    expect(await k.ok('logs -l app=two -c main')).toBe(lines);
    expect(await k.ok('logs two -c main --timestamps --tail=1')).toMatch(/^20\d\d-\d\d-\d\dT[\d:.]+Z line 3\n$/);
    expect(await k.ok('logs two -c main --since=1h')).toBe(lines);
    expect(await k.ok('logs two -c main --since-time=2035-01-01T00:00:00Z')).toBe('');
    expect(await k.ok('logs two -c main --limit-bytes=8')).toBe('line 1\nl');
    expect(await k.fails('logs two -c none')).toContain('container none is not valid for pod two');
    expect(await k.fails('logs two -c main --previous')).toMatch(
      /previous terminated container "?main"? in pod "?two"? not found/,
    );
    const followed = k.start('logs two -c main -f');
    await followed.until(lines);
    await k.ok('delete pod two');
    expect(await followed.end()).toMatchObject({ code: 0, stdout: lines });
  });

  it('logs --previous prints what a container wrote before it was restarted', async () => {
    const k = await into('logs-previous');
    await k.ok(`run twice ${image}`, '--', 'sh', '-c', 'echo started; [ -e /tmp/x ] || sleep 1; exit 1');
    const restarted = k.start('get pod twice --watch -o', 'jsonpath={.status.containerStatuses[0].restartCount}{"\\n"}');
    await restarted.until(/^[1-9]\d*$/m);
    await restarted.stop();
    expect(await k.ok('logs twice --previous')).toBe('started\n');
    await k.ok('delete pod twice --now');
  });

  it('run makes a pod of flags', async () => {
    const k = await into('run');
    const flags = '--port=80 --env=A=b --labels=app=web,tier=front --restart=Never';
    expect(await k.ok(`run web ${image} ${flags} --expose`, '--', 'sh', '-c', 'echo $A')).toBe(
      'service/web created\npod/web created\n',
    );
    await eventually('its end', async () =>
      (await k.ok('get pod web -o', 'jsonpath={.status.phase}')) === 'Succeeded' ? true : undefined,
    );
    expect(await k.ok('logs web')).toBe('b\n');
    expect(await k.ok('get pod web -o', 'jsonpath={.metadata.labels}{.spec.containers[0].ports[0].containerPort}')).toBe(
      '{"app":"web","tier":"front"}80',
    );
    expect(await k.ok(`run later ${image} --dry-run=client -o`, 'jsonpath={.kind}/{.metadata.name}')).toBe('Pod/later');
    expect(await k.ok('get pods')).toMatch(/\nweb +0\/1 +Completed +0 +/);
  });
}
