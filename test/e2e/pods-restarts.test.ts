import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, eventually } from './installation.ts';
import {
  conditionOf,
  configMap,
  containerOf,
  createPodHouse,
  image,
  type PodHouse,
  podOf,
  script,
  secret,
  stay,
} from './pods-fixture.ts';

// What becomes of containers that end or do not start. All pods are made at once, since most of the time is waiting.
let house: PodHouse;
const never = { restartPolicy: 'Never' };
const container = (name: string, more: object) => ({ name, image, imagePullPolicy: 'IfNotPresent', ...more });
const unreachable = '127.0.0.1:9/nowhere/image:1';

beforeAll(async () => {
  house = await createPodHouse('restarts');
  await house.apply(
    podOf('crashes', [script('echo "run of $(cut -d. -f1 /proc/uptime)"; exit 3')]),
    podOf(
      'recovers',
      [
        script(
          'test -e /state/ran && { trap "exit 0" TERM; while :; do sleep 1000 & wait; done; }; echo first; touch /state/ran; exit 4',
          { volumeMounts: [{ name: 'state', mountPath: '/state' }] },
        ),
      ],
      { restartPolicy: 'OnFailure', volumes: [{ name: 'state', emptyDir: {} }] },
    ),
    podOf('completes', [script('echo done'), script('sleep 1', { name: 'second' })], { restartPolicy: 'OnFailure' }),
    podOf('succeeds', [script('echo fine')], never),
    podOf('fails', [script('echo bad; exit 5'), script('exit 0', { name: 'fine' })], never),
    // The engine begins to listen for kills for memory a moment after the start and hears of one a moment later:
    // both are given a second.
    podOf(
      'oom',
      [script('sleep 1; tail /dev/zero; code=$?; sleep 1; exit $code', { resources: { limits: { memory: '16Mi' } } })],
      never,
    ),
    podOf('no-command', [container('main', { command: ['/no/such/program'] })], never),
    podOf('no-command-always', [container('main', { command: ['/no/such/program'] })]),
    podOf('no-image', [{ ...container('main', {}), image: unreachable }]),
    podOf('never-pull', [{ ...container('main', {}), image: 'berth/absent:1', imagePullPolicy: 'Never' }]),
    podOf('bad-name', [{ ...container('main', {}), image: 'Not A Name' }]),
    podOf('no-config', [script(stay, { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'later', key: 'a' } } }] })]),
    podOf('no-secret', [script(stay, { envFrom: [{ secretRef: { name: 'later' } }] })]),
  );
});
afterAll(() => house.berth.purge());

describe('a container that the restart policy wants again', () => {
  it('restarts at once, then waits in CrashLoopBackOff, with its count, its last end and the log of the run before', async () => {
    const pod = await house.until(
      'crashes',
      'waits',
      (each) => each.status.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff',
    );
    const status = containerOf(pod);
    expect(status).toMatchObject({ ready: false, restartCount: 1, lastState: { terminated: { exitCode: 3, reason: 'Error' } } });
    expect(status.state.waiting?.message).toMatch(/^back-off 10s restarting failed container=main pod=crashes_default\(/);
    expect(pod.status.phase).toBe('Running');
    expect(conditionOf(pod, 'Ready')).toMatchObject({ status: 'False', reason: 'ContainersNotReady' });
    expect(await house.row('crashes')).toEqual({ ready: '0/1', status: 'CrashLoopBackOff', restarts: 1 });
    const [now, before] = [await house.berth.ok('logs', 'crashes'), await house.berth.ok('logs', 'crashes', '--previous')];
    for (const log of [now, before]) expect(log).toMatch(/^run of \d+\n$/);
    const events = await house.events('crashes');
    expect(events.find((each) => each.reason === 'BackOff')).toMatchObject({ type: 'Warning' });
  });

  it('shows the log of the run before while the next one runs', async () => {
    const pod = await house.running('recovers');
    expect(containerOf(pod)).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 4, reason: 'Error' } } });
    expect(await house.berth.ok('logs', 'recovers', '--previous')).toBe('first\n');
    expect(await house.berth.ok('logs', 'recovers')).toBe('');
  });

  it('with OnFailure ends when it succeeds', async () => {
    const pod = await house.until('completes', 'has ended', (each) => each.status.phase === 'Succeeded');
    for (const status of pod.status.containerStatuses ?? [])
      expect(status).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0, reason: 'Completed' } } });
    expect(await house.row('completes')).toEqual({ ready: '0/2', status: 'Completed', restarts: 0 });
  });

  it('waits longer after the second restart, and keeps one dead container only', async () => {
    const pod = await house.until('crashes', 'restarted twice', (each) => {
      const status = each.status.containerStatuses?.[0];
      return status?.restartCount === 2 && status.state.waiting !== undefined;
    });
    expect(containerOf(pod).state.waiting?.message).toMatch(/^back-off 20s /);
    const kept = await containersOf(house.berth.nodeName);
    expect(kept.filter((each) => each.pod === 'crashes' && each.container === 'main')).toHaveLength(1);
  });

  it('goes on waiting, with the same count, under an agent that was killed and started again', async () => {
    process.kill(house.berth.pid('agent'), 'SIGKILL');
    await eventually('the agent serves again', async () =>
      (await house.sh('recovers', 'echo here')) === 'here\n' ? true : undefined,
    );
    const status = containerOf(await house.pod('crashes'));
    expect(status).toMatchObject({ restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } } });
    expect(status.state.waiting?.message).toMatch(/^back-off 20s /);
  });
});

describe('a container that is not wanted again', () => {
  it('makes its pod Succeeded, with its log still there', async () => {
    const pod = await house.until('succeeds', 'has ended', (each) => each.status.phase === 'Succeeded');
    expect(conditionOf(pod, 'Ready')).toMatchObject({ status: 'False', reason: 'PodCompleted' });
    expect(await house.row('succeeds')).toEqual({ ready: '0/1', status: 'Completed', restarts: 0 });
    expect(await house.berth.ok('logs', 'succeeds')).toBe('fine\n');
  });
  it('makes its pod Failed when it failed', async () => {
    const pod = await house.until('fails', 'has ended', (each) => each.status.phase === 'Failed');
    expect(containerOf(pod, 'main').state.terminated).toMatchObject({ exitCode: 5, reason: 'Error' });
    expect(containerOf(pod, 'fine').state.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(await house.row('fails')).toEqual({ ready: '0/2', status: 'Error', restarts: 0 });
  });
  it('is OOMKilled when it takes more memory than its limit', async () => {
    const pod = await house.until('oom', 'has ended', (each) => each.status.phase === 'Failed');
    expect(containerOf(pod).state.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    expect((await house.row('oom')).status).toBe('OOMKilled');
  });
});

describe('a container that cannot start', () => {
  it('says that its command does not exist', async () => {
    const pod = await house.until('no-command', 'has ended', (each) => each.status.phase === 'Failed');
    const end = containerOf(pod).state.terminated;
    expect(end).toMatchObject({ exitCode: 127, reason: 'ContainerCannotRun' });
    expect(end?.message).toContain('/no/such/program');
    expect((await house.row('no-command')).status).toBe('ContainerCannotRun');
  });
  it('is tried again with back-off when its policy says so', async () => {
    const pod = await house.until(
      'no-command-always',
      'waits',
      (each) => each.status.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(containerOf(pod).lastState?.terminated?.reason).toBe('ContainerCannotRun');
  });
  it('says that its image cannot be pulled, then that it waits', async () => {
    const pod = await house.until(
      'no-image',
      'waits',
      (each) => each.status.containerStatuses?.[0]?.state.waiting?.reason === 'ImagePullBackOff',
    );
    expect(containerOf(pod).state.waiting?.message).toContain(unreachable);
    expect(containerOf(pod).state.waiting?.message).not.toContain('HTTP code');
    expect(pod.status.phase).toBe('Pending');
    const events = (await house.events('no-image')).map(({ type, reason, message }) => `${type} ${reason} ${message}`).join('\n');
    for (const part of ['Normal Pulling', 'Warning Failed Failed to pull image', 'Error: ErrImagePull', 'Normal BackOff'])
      expect(events).toContain(part);
    // On a busy machine the next pull may have failed by now, which is said first.
    const row = await house.row('no-image');
    expect(row).toMatchObject({ ready: '0/1', status: expect.stringMatching(/^(ImagePullBackOff|ErrImagePull)$/) });
  });
  it('says that its image is not here and must not be pulled, or that it has no proper name', async () => {
    const waiting = async (name: string) =>
      containerOf(
        await house.until(
          name,
          'waits',
          (each) => !['ContainerCreating', undefined].includes(each.status.containerStatuses?.[0]?.state.waiting?.reason),
        ),
      ).state.waiting;
    expect(await waiting('never-pull')).toMatchObject({ reason: 'ErrImageNeverPull' });
    expect(await waiting('bad-name')).toMatchObject({ reason: 'InvalidImageName' });
  });
  it('waits for a ConfigMap or Secret that is missing, and starts when it appears', async () => {
    const waits = (name: string) =>
      house.until(
        name,
        'waits',
        (each) => each.status.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError',
      );
    expect(containerOf(await waits('no-config')).state.waiting?.message).toBe('configmap "later" not found');
    expect(containerOf(await waits('no-secret')).state.waiting?.message).toBe('secret "later" not found');
    expect((await house.row('no-config')).status).toBe('CreateContainerConfigError');
    await house.apply(configMap('later', { a: 'healed' }), secret('later', { b: 'healed' }));
    await house.running('no-config');
    await house.running('no-secret');
    expect(await house.sh('no-config', 'echo $A')).toBe('healed\n');
    expect(await house.sh('no-secret', 'echo $b')).toBe('healed\n');
  });
  it('starts at once when its image is changed to one that is here', async () => {
    await house.apply(podOf('no-image', [container('main', {})]));
    await house.until('no-image', 'has run', (each) => (each.status.containerStatuses?.[0]?.containerID ?? '') !== '', 8_000);
  });
});
