import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeRegistry, startFakeRegistry } from './fake-registry.ts';
import { containersOf, eventually } from './installation.ts';
import { containerOf, createPodHouse, image, isReady, type PodHouse, podOf, script, stay } from './pods-fixture.ts';

// What people see whose agent dies in the middle of something; it comes back by itself each time.
let house: PodHouse;
let registry: FakeRegistry;
beforeAll(async () => {
  registry = await startFakeRegistry();
  house = await createPodHouse('agent-kill');
  await house.apply(podOf('works', [script(stay)]));
  await house.running('works');
});
afterAll(async () => {
  registry?.close();
  await house?.berth.purge();
});

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
const killAgent = () => process.kill(house.berth.pid('agent'), 'SIGKILL');
const serves = () =>
  eventually('the agent serves again', async () => ((await house.sh('works', 'echo here')) === 'here\n' ? true : undefined));

/** A command of which the output is read while it runs. */
function begin(...args: string[]) {
  const child = spawn(process.execPath, [launcher, ...args], { env: { ...process.env, BERTH_CONFIG: house.berth.config } });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk));
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { output, ended };
}

describe('an agent that is killed', () => {
  it('while a command runs ends that command with a sentence that says what happened, and serves the next one', async () => {
    const { output, ended } = begin('exec', 'works', '--', 'sh', '-c', 'echo begun; sleep 1000');
    await eventually('the command has begun', async () => (output.stdout === 'begun\n' ? true : undefined));
    killAgent();
    expect(await ended).toBe(1);
    expect(output.stderr).toMatch(/^error: .*(node|agent)/);
    expect(output.stderr).not.toMatch(/\n\s+at /);
    await serves();
    expect(containerOf(await house.pod('works'))).toMatchObject({ restartCount: 0, ready: true });
  });

  it('while an image is pulled tries again, says why that fails, and lets the pod go', async () => {
    await house.apply(podOf('pulls', [{ name: 'main', image: `${registry.host}/hangs:1` }]));
    await eventually('the pull has begun', async () => (await house.events('pulls')).find(({ reason }) => reason === 'Pulling'));
    killAgent();
    await serves();
    const pod = await house.until('pulls', 'is being created', ({ status }) => status.containerStatuses?.[0] !== undefined);
    expect(pod.status.phase).toBe('Pending');
    expect(containerOf(pod).state.waiting?.reason).toBe('ContainerCreating');
    // From now on the port is closed.
    registry.close();
    await house.until('pulls', 'waits', ({ status }) =>
      /^(ErrImagePull|ImagePullBackOff)$/.test(status.containerStatuses?.[0]?.state.waiting?.reason ?? ''),
    );
    await house.apply(podOf('pulls', [{ name: 'main', image, imagePullPolicy: 'IfNotPresent' }]));
    await house.until('pulls', 'has run', ({ status }) => status.containerStatuses?.[0]?.containerID !== undefined);
    await house.berth.ok('delete', 'pod', 'pulls');
  });

  it('while a pod waits for its grace period ends it all the same', async () => {
    await house.apply(
      podOf('slow', [script('trap "" TERM; while :; do sleep 1000 & wait; done')], { terminationGracePeriodSeconds: 3 }),
    );
    await house.until('slow', 'runs', isReady);
    await house.berth.ok('delete', 'pod', 'slow', '--no-wait');
    await eventually('it is being stopped', async () => (await house.events('slow')).find(({ reason }) => reason === 'Killing'));
    killAgent();
    await house.berth.ok('wait', '--for=delete', 'pod/slow', '--timeout=120s');
    expect((await containersOf(house.berth.nodeName)).filter((each) => each.pod === 'slow')).toEqual([]);
  });
});
