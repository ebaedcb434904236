import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, eventually, run } from './installation.ts';
import { conditionOf, containerOf, createPodHouse, type PodHouse, type PodJson, podOf, script, stay } from './pods-fixture.ts';

// The order in which the containers of a pod begin and end. All pods are made at once,
// since most of the time is waiting.
let house: PodHouse;
let folder: string;
const never = { restartPolicy: 'Never' };
const mounted = { volumeMounts: [{ name: 'notes', mountPath: '/notes' }] };
const note = (text: string) => `echo ${text} >> /notes/order`;
const sidecar = (name: string, text: string) => script(text, { ...mounted, name, restartPolicy: 'Always' });
const init = (name: string, text: string) => script(text, { ...mounted, name });
/** Notes that it began, once it can be told to end, and that it ended when it was told to. */
const noting = (name: string) =>
  `trap "${note(`${name}-ended`)}; exit 0" TERM; ${note(name)}; while :; do sleep 1000 & wait; done`;
const onExit = (action: string, code: number) => ({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [code] } }],
});
const firstRun = 'test -e /notes/ran || { touch /notes/ran;';
const emptyNotes = { volumes: [{ name: 'notes', emptyDir: {} }] };

function withInit(name: string, inits: readonly object[], containers: readonly object[], spec: object = {}): object {
  return podOf(name, containers, { ...emptyNotes, initContainers: inits, ...spec });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-order-'));
  house = await createPodHouse('init', '--max-container-restart-period', '4s');
  await house.apply(
    withInit(
      'ordered',
      [
        init('first', `echo out of first; ${note('first')}; sleep 0.5`),
        sidecar('proxy', noting('proxy')),
        init('second', `sleep 0.5; ${note('second')}`),
        sidecar('logger', noting('logger')),
      ],
      [script(`trap "sleep 1; ${note('app-ended')}; exit 0" TERM; ${note('app')}; while :; do sleep 1000 & wait; done`, mounted)],
      { volumes: [{ name: 'notes', hostPath: { path: folder } }], terminationGracePeriodSeconds: 20 },
    ),
    withInit('init-fails', [init('bad', 'echo why; exit 7')], [script(stay)], never),
    withInit('init-crashes', [init('bad', 'exit 1')], [script(stay)]),
    withInit('init-once', [script('exit 1', { name: 'bad', restartPolicy: 'Never' })], [script(stay)]),
    withInit('done', [sidecar('proxy', stay)], [script('sleep 1')], { ...never, terminationGracePeriodSeconds: 30 }),
    withInit('reborn', [init('setup', note('setup'))], [script(`${note('app')}; ${stay}`, mounted)]),
    podOf('deadline', [script(stay)], { activeDeadlineSeconds: 20, terminationGracePeriodSeconds: 30 }),
    podOf('gated', [script(stay)], { readinessGates: [{ conditionType: 'example.com/warm' }] }),
    podOf(
      'rules',
      [
        script(`${firstRun} exit 42; }; ${stay}`, { ...mounted, ...onExit('Restart', 42) }),
        script('exit 3', { name: 'once', restartPolicy: 'Never' }),
        script('exit 0', { name: 'again', restartPolicy: 'OnFailure' }),
      ],
      emptyNotes,
    ),
    withInit(
      'anew',
      [init('setup', note('setup'))],
      [
        script(`${note('app')}; ${stay}`, mounted),
        script(`sleep 1; ${firstRun} exit 88; }; ${stay}`, { ...mounted, name: 'watch', ...onExit('RestartAllContainers', 88) }),
      ],
      never,
    ),
    podOf('too-big', [script(stay, { resources: { requests: { cpu: '900' } } })], { nodeName: house.berth.nodeName }),
  );
});
afterAll(async () => {
  await house.berth.purge();
  await rm(folder, { recursive: true, force: true });
});

const order = async () => (await readFile(join(folder, 'order'), 'utf8')).trim().split('\n');
const inits = (pod: PodJson) => pod.status.initContainerStatuses ?? [];
const initOf = (pod: PodJson, name: string) => inits(pod).find((each) => each.name === name);
const waitingOf = (pod: PodJson) => pod.status.containerStatuses?.[0]?.state.waiting?.reason;

describe('a pod with init containers and sidecars', () => {
  it('runs them one after the other, each when the one before is done or has started, and then its containers', async () => {
    const pod = await house.running('ordered');
    expect(await order()).toEqual(['first', 'proxy', 'second', 'logger', 'app']);
    for (const name of ['first', 'second'])
      expect(initOf(pod, name)).toMatchObject({ ready: true, state: { terminated: { exitCode: 0, reason: 'Completed' } } });
    for (const name of ['proxy', 'logger'])
      expect(initOf(pod, name)).toMatchObject({ ready: true, started: true, state: { running: {} } });
    expect(conditionOf(pod, 'Initialized')?.status).toBe('True');
    expect(await house.row('ordered')).toEqual({ ready: '3/3', status: 'Running', restarts: 0 });
  });

  it('is described with them, and their logs are read and commands run in them by name', async () => {
    const text = await house.berth.ok('describe', 'pod', 'ordered');
    expect(text).toMatch(/Init Containers:\n {2}first:[\s\S]*proxy:[\s\S]*\nContainers:\n/);
    expect(await house.berth.ok('logs', 'ordered', '-c', 'first')).toBe('out of first\n');
    expect(await house.sh('ordered', 'echo $((6*7))', 'proxy')).toBe('42\n');
    const { items } = JSON.parse(await house.berth.ok('get', 'events', '-o', 'json'));
    const places = items.map((each: { involvedObject: { fieldPath?: string } }) => each.involvedObject.fieldPath);
    expect(places).toContain('spec.initContainers{second}');
  });

  it('restarts a sidecar that ends, and nothing else', async () => {
    const { stdout } = await run('docker', ['ps', '-q', '--filter', 'label=io.berth.container.name=logger']);
    await run('docker', ['kill', stdout.trim()]);
    const pod = await house.until(
      'ordered',
      'has its sidecar again',
      (each) => initOf(each, 'logger')?.restartCount === 1 && initOf(each, 'logger')?.ready === true,
    );
    expect(initOf(pod, 'logger')?.lastState?.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });
    expect(containerOf(pod).restartCount).toBe(0);
    await eventually('it has begun', async () => ((await order()).at(-1) === 'logger' ? true : undefined));
    expect((await order()).slice(4)).toEqual(['app', 'logger']);
  });

  it('ends its containers first, then the sidecars in reverse order, all within the grace period', async () => {
    await house.berth.ok('delete', 'pod', 'ordered');
    expect((await order()).slice(-3)).toEqual(['app-ended', 'logger-ended', 'proxy-ended']);
    const left = await containersOf(house.berth.nodeName);
    expect(left.filter((each) => each.pod === 'ordered')).toEqual([]);
  });

  it('fails with its init container when that may not run again', async () => {
    const pod = await house.until('init-fails', 'has failed', (each) => each.status.phase === 'Failed');
    expect(initOf(pod, 'bad')?.state.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
    expect(conditionOf(pod, 'Initialized')).toMatchObject({ status: 'False', reason: 'ContainersNotInitialized' });
    expect(waitingOf(pod)).toBe('PodInitializing');
    expect(await house.row('init-fails')).toEqual({ ready: '0/1', status: 'Init:Error', restarts: 0 });
    expect(await house.berth.ok('logs', 'init-fails', '-c', 'bad')).toBe('why\n');
    await house.until('init-once', 'has failed', (each) => each.status.phase === 'Failed');
  });

  it('waits for an init container that fails again and again', async () => {
    const pod = await house.until(
      'init-crashes',
      'waits',
      (each) => initOf(each, 'bad')?.state.waiting?.reason === 'CrashLoopBackOff',
    );
    // The node's own longest wait, in place of 10 s.
    expect(initOf(pod, 'bad')?.state.waiting?.message).toMatch(
      /^back-off 4s restarting failed container=bad pod=init-crashes_default\(/,
    );
    expect(pod.status.phase).toBe('Pending');
    // Between two waits it runs.
    const row = await eventually('get shows that it waits', async () => {
      const shown = await house.row('init-crashes');
      return shown.status === 'Init:CrashLoopBackOff' ? shown : undefined;
    });
    expect(row).toMatchObject({ ready: '0/1' });
    const { code, stderr } = await house.berth.berth(['logs', 'init-crashes']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('container "main" in pod "init-crashes" is waiting to start: PodInitializing');
  });

  it('has ended when its containers have, whatever its sidecars do', async () => {
    const pod = await house.until('done', 'has ended', (each) => each.status.phase === 'Succeeded');
    expect(initOf(pod, 'proxy')?.state.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(await house.row('done')).toEqual({ ready: '0/2', status: 'Completed', restarts: 0 });
  });

  it('initializes anew when its sandbox dies', async () => {
    await house.running('reborn');
    const sandbox = (await containersOf(house.berth.nodeName)).find((each) => each.pod === 'reborn' && each.container === 'POD');
    await run('docker', ['kill', sandbox?.id ?? '']);
    const pod = await house.until(
      'reborn',
      'is ready again',
      (each) => each.status.containerStatuses?.[0]?.restartCount === 1 && conditionOf(each, 'Ready')?.status === 'True',
    );
    expect(initOf(pod, 'setup')).toMatchObject({ restartCount: 1, ready: true });
    expect(await house.exec('reborn', 'cat', '/notes/order')).toBe('setup\napp\nsetup\napp\n');
  });
});

describe('a pod that ends or restarts by its own rules', () => {
  it('restarts each container by its own policy and rules', async () => {
    const pod = await house.until('rules', 'has restarted', (each) => containerOf(each, 'main').restartCount === 1);
    expect(containerOf(pod, 'main').lastState?.terminated).toMatchObject({ exitCode: 42 });
    expect(containerOf(pod, 'once')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 3 } } });
    expect(containerOf(pod, 'again')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0 } } });
  });

  it('restarts all its containers in the same sandbox when a rule says so', async () => {
    const pod = await house.until(
      'anew',
      'has begun anew',
      (each) => containerOf(each, 'main').restartCount === 1 && containerOf(each, 'watch').state.running !== undefined,
    );
    expect(initOf(pod, 'setup')).toMatchObject({ restartCount: 1, ready: true });
    expect(containerOf(pod, 'watch').lastState?.terminated).toMatchObject({ exitCode: 88 });
    expect(await house.sh('anew', 'cat /notes/order', 'main')).toBe('setup\napp\nsetup\napp\n');
    const sandboxes = (await containersOf(house.berth.nodeName)).filter(
      (each) => each.pod === 'anew' && each.container === 'POD',
    );
    expect(sandboxes).toHaveLength(1);
    expect(conditionOf(pod, 'AllContainersRestarting')?.status).toBe('False');
  });

  it('is ready when its containers are and its readiness gates say so', async () => {
    const waits = await house.until('gated', 'runs', (each) => conditionOf(each, 'ContainersReady')?.status === 'True');
    expect(conditionOf(waits, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message: 'corresponding condition of pod readiness gate "example.com/warm" does not exist.',
    });
    const patch = { status: { conditions: [{ type: 'example.com/warm', status: 'True' }] } };
    await house.berth.ok('patch', 'pod', 'gated', '--subresource', 'status', '-p', JSON.stringify(patch));
    await house.running('gated');
  });

  it('is refused by a node that has no room for it, once, with the reason', async () => {
    const pod = await house.until('too-big', 'was refused', (each) => each.status.phase === 'Failed');
    expect(pod.status.reason).toBe('OutOfcpu');
    const events = (await house.events('too-big')).filter(({ reason }) => reason === 'OutOfcpu');
    expect(events).toMatchObject([{ type: 'Warning', message: expect.stringContaining("didn't have enough resource: cpu") }]);
  });

  it('fails when its time is over', async () => {
    const pod = await house.until('deadline', 'has failed', (each) => each.status.phase === 'Failed');
    expect(pod.status).toMatchObject({ reason: 'DeadlineExceeded' });
    expect(containerOf(pod).state.terminated).toMatchObject({ exitCode: 0 });
    expect((await house.events('deadline')).map(({ reason }) => reason)).toContain('DeadlineExceeded');
  });
});
