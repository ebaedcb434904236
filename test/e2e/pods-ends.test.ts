import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, eventually } from './installation.ts';
import { createPodHouse, isReady, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// How pods end, and what an agent that dies in the middle leaves behind: nothing.
let house: PodHouse;
let hostDir: string;
beforeAll(async () => {
  hostDir = mkdtempSync(join(tmpdir(), 'berth-e2e-ends-'));
  house = await createPodHouse('ends');
});
afterAll(async () => {
  await house.berth.purge();
  rmSync(hostDir, { recursive: true, force: true });
});

const volumeMounts = [{ name: 'host', mountPath: '/host' }];
const withHost = (name: string, text: string, grace: number) =>
  podOf(name, [script(text, { volumeMounts })], {
    terminationGracePeriodSeconds: grace,
    volumes: [{ name: 'host', hostPath: { path: hostDir } }],
  });

interface Leaving {
  readonly metadata: { readonly deletionTimestamp?: string };
}

const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const start = Date.now();
  await run();
  return (Date.now() - start) / 1000;
};

describe('a deleted pod', () => {
  it('gets SIGTERM and its grace period', async () => {
    const graceful =
      'trap "sleep 1; echo bye > /host/bye; exit 0" TERM; echo > /host/ready-a; while :; do sleep 1000 & wait; done';
    await house.apply(withHost('polite', graceful, 20));
    await eventually('it runs', async () => existsSync(join(hostDir, 'ready-a')) || undefined);
    const seconds = await timed(() => house.berth.ok('delete', 'pod', 'polite'));
    expect(readFileSync(join(hostDir, 'bye'), 'utf8')).toBe('bye\n');
    expect(seconds).toBeGreaterThan(1);
    expect(seconds).toBeLessThan(10);
    expect(await containersOf(house.berth.nodeName)).toEqual([]);
  });

  it('is killed after its grace period when it ignores SIGTERM', async () => {
    const deaf = 'trap "echo > /host/heard" TERM; echo > /host/ready-b; while :; do sleep 1000 & wait; done';
    await house.apply(withHost('deaf', deaf, 3));
    await eventually('it runs', async () => existsSync(join(hostDir, 'ready-b')) || undefined);
    const deletion = timed(() => house.berth.ok('delete', 'pod', 'deaf'));
    // Not by a command: under load one takes as long as the grace period.
    const leaves = async () => ((await house.berth.reader.get('Pod', 'deaf')) as unknown as Leaving).metadata.deletionTimestamp;
    await eventually('it is leaving', leaves);
    const seconds = await deletion;
    expect(existsSync(join(hostDir, 'heard'))).toBe(true);
    expect(seconds).toBeGreaterThan(3);
    expect(seconds).toBeLessThan(10);
    expect(await containersOf(house.berth.nodeName)).toEqual([]);
  });

  it('terminates sooner after a second delete with a shorter grace period', async () => {
    const deaf = 'trap "" TERM; echo > /host/ready-c; while :; do sleep 1000 & wait; done';
    await house.apply(withHost('hurried', deaf, 60));
    await eventually('it runs', async () => existsSync(join(hostDir, 'ready-c')) || undefined);
    await house.berth.ok('delete', 'pod', 'hurried', '--no-wait');
    expect(await timed(() => house.berth.ok('delete', 'pod', 'hurried', '--grace-period', '1'))).toBeLessThan(15);
    expect(await containersOf(house.berth.nodeName)).toEqual([]);
  });

  it('is removed at once by a forced delete, and its containers follow', async () => {
    await house.apply(
      podOf('forced', [script('trap "" TERM; while :; do sleep 1000 & wait; done')], { terminationGracePeriodSeconds: 2 }),
    );
    await house.running('forced');
    await house.berth.ok('delete', 'pod', 'forced', '--force', '--grace-period', '0');
    expect((await house.berth.berth(['get', 'pod', 'forced'])).code).toBe(1);
    await eventually('its containers are gone', async () =>
      (await containersOf(house.berth.nodeName)).length === 0 ? true : undefined,
    );
  });
});

describe('an agent that is killed', () => {
  const names = Array.from({ length: 10 }, (_, index) => `p${index}`);
  // Of the others all may have ended before the agent is killed.
  const slowest = 'p9';
  const endsSlowly = 'trap "sleep 10; exit 0" TERM; while :; do sleep 1000 & wait; done';
  const kill = () => process.kill(house.berth.pid('agent'), 'SIGKILL');
  const containers = async () =>
    (await containersOf(house.berth.nodeName)).map((each) => `${each.pod}/${each.container}/${each.state}`).sort();
  const podsDir = () => join(house.berth.dataDir, 'node', house.berth.nodeName, 'pods');
  const podFolders = () => (existsSync(podsDir()) ? readdirSync(podsDir()) : []);

  it('in the middle of starting pods: each container exists once', async () => {
    const mounts = { volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] };
    const spec = { volumes: [{ name: 'scratch', emptyDir: {} }] };
    const both = (side: string) => [script(stay, mounts), script(side, { ...mounts, name: 'side' })];
    const applied = house.apply(...names.map((name) => podOf(name, both(name === slowest ? endsSlowly : stay), spec)));
    await eventually('some containers are there', async () => {
      const { length } = await containers();
      return length >= 4 ? true : undefined;
    });
    kill();
    expect((await containers()).length).toBeLessThan(30);
    await applied;
    const pods = await Promise.all(names.map((name) => house.until(name, 'runs', isReady)));
    expect(await containers()).toEqual(
      names.flatMap((name) => ['POD', 'main', 'side'].map((each) => `${name}/${each}/running`)).sort(),
    );
    for (const pod of pods) expect(pod.status.containerStatuses?.map((each) => each.restartCount)).toEqual([0, 0]);
  });

  it('and started again: restarts nothing', async () => {
    const ids = async () => (await containersOf(house.berth.nodeName)).map((each) => each.id).sort();
    const before = await ids();
    const pid = house.berth.pid('agent');
    process.kill(pid, 'SIGKILL');
    await eventually('it serves again', async () => ((await house.exec('p0', 'true')) === '' ? true : undefined));
    expect(house.berth.pid('agent')).not.toBe(pid);
    expect(await ids()).toEqual(before);
  });

  it('in the middle of ending pods: nothing is left', async () => {
    expect(podFolders().length).toBe(10);
    await house.berth.ok('delete', 'pod', ...names, '--no-wait');
    await eventually('some containers are gone', async () => ((await containers()).length <= 27 ? true : undefined));
    kill();
    expect((await containers()).length).toBeGreaterThan(0);
    await eventually('all pods are gone', async () =>
      (await house.berth.ok('get', 'pods', '-o', 'name')) === '' ? true : undefined,
    );
    await eventually('all containers are gone', async () => ((await containers()).length === 0 ? true : undefined));
    // A late event or list must not bring anything back.
    await delay(2_000);
    expect(await containers()).toEqual([]);
    expect(podFolders()).toEqual([]);
  });
});
