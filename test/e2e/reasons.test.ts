import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeRegistry, startFakeRegistry } from './fake-registry.ts';
import { containersOf, eventually } from './installation.ts';
import { type ContainerJson, containerOf, createPodHouse, image, isReady, type PodHouse, podOf, script } from './pods-fixture.ts';

// Every way in which a container can go wrong shows its own reason, in `get` and in `describe`.
// All pods are made at once.
let house: PodHouse;
let registry: FakeRegistry;
const never = { restartPolicy: 'Never' };
const command = (...words: string[]) => ({ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: words });
const limited = { resources: { limits: { memory: '16Mi' } } };
/** The first process itself is killed at once: the engine alone often misses such a kill. */
const oomPods = Array.from({ length: 4 }, (_, index) => `oom-${index}`);

beforeAll(async () => {
  registry = await startFakeRegistry({
    'private/app': { status: 403, code: 'DENIED', message: 'requested access to the resource is denied' },
  });
  house = await createPodHouse('reasons');
  await house.apply(
    podOf('absent', [{ name: 'main', image: `${registry.host}/absent/app:1` }]),
    podOf('denied', [{ name: 'main', image: `${registry.host}/private/app:1` }]),
    podOf('nowhere', [{ name: 'main', image: '127.0.0.1:9/nowhere/app:1' }]),
    podOf('no-command', [command('/no/such/program')]),
    podOf('no-command-once', [command('no-such-program')], never),
    podOf('not-executable', [command('/etc/passwd')], never),
    podOf('fails', [script('echo the last words; exit 7')]),
    podOf('fails-once', [script('exit 8')], never),
    podOf('completes', [script('exit 0')], never),
    // "$$" in a command is one "$", as in Kubernetes.
    podOf('killed-child', [script("sh -c 'kill -9 $$$$'; exit $?")], never),
    ...oomPods.map((name) => podOf(name, [{ ...command('tail', '/dev/zero'), ...limited }], never)),
    podOf('oom-loop', [{ ...command('tail', '/dev/zero'), ...limited }]),
    podOf('oom-child', [script('tail /dev/zero; exit 3', limited)], never),
    podOf('deaf', [script('trap "" TERM; while :; do sleep 1000 & wait; done')], { terminationGracePeriodSeconds: 12 }),
  );
});
afterAll(async () => {
  registry.close();
  await house.berth.purge();
});

const waits = (name: string, reason: string) =>
  house.until(name, `waits: ${reason}`, (pod) => pod.status.containerStatuses?.[0]?.state.waiting?.reason === reason, 120_000);
const ends = (name: string, phase: string) => house.until(name, `is ${phase}`, (pod) => pod.status.phase === phase, 120_000);

interface Description {
  readonly text: string;
  /** The lines below `State:` and `Last State:`, of the only container. */
  readonly state: string;
  readonly lastState: string;
  readonly events: string;
}

async function describePod(name: string): Promise<Description> {
  const text = await house.berth.ok('describe', 'pod', name);
  const part = (from: RegExp, to: RegExp) => text.split(from)[1]?.split(to)[0] ?? '';
  return {
    text,
    state: part(/^ +State:/m, /^ +(?:Last State|Ready):/m),
    lastState: part(/^ +Last State:/m, /^ +Ready:/m),
    events: text.split(/^Events:/m)[1] ?? '',
  };
}

/** Events are written a moment after the status. */
const describedWith = (name: string, event: RegExp) =>
  eventually(`describe shows ${event} of pod ${name}`, async () => {
    const description = await describePod(name);
    return event.test(description.events) ? description : undefined;
  });

/** Asks until `get` and `describe` show it: what is tried again says so in turns. */
const shows = (name: string, check: () => Promise<void>) => eventually(`pod ${name} shows it`, () => check().then(() => true));

const describedInBackOff = (name: string) =>
  eventually(`describe shows that pod ${name} waits`, async () => {
    const description = await describePod(name);
    return /Waiting\s+Reason: +CrashLoopBackOff\s+Message: +back-off/.test(description.state) ? description : undefined;
  });

const lines = (...parts: readonly string[]) => new RegExp(parts.join('\\s+'));
const endOf = (reason: string, exitCode: number) => lines('Terminated', `Reason: +${reason}`, `Exit ?Code: +${exitCode}\\b`);
/** With a message between the two. */
const endWithWords = (reason: string, words: string, exitCode: number) =>
  new RegExp(`Terminated\\s+Reason: +${reason}\\s+Message: +.*${words}[^]*Exit ?Code: +${exitCode}\\b`);

describe('an image that cannot be pulled', () => {
  it.each([
    ['is not in its registry', 'absent', 'manifest unknown'],
    ['is refused by its registry', 'denied', 'requested access to the resource is denied'],
    ['is in a registry that does not answer', 'nowhere', 'connection refused'],
  ])('because it %s shows so', async (_, name, words) => {
    const pod = await waits(name, 'ImagePullBackOff');
    expect(containerOf(pod).state.waiting?.message).toContain(words);
    await shows(name, async () =>
      expect(await house.row(name)).toEqual({ ready: '0/1', status: 'ImagePullBackOff', restarts: 0 }),
    );
    const { events } = await describedWith(name, /ImagePullBackOff|Back-off pulling/);
    const waiting = new RegExp(`Waiting\\s+Reason: +ImagePullBackOff\\s+Message: +Back-off pulling image .*${words}`);
    await shows(name, async () => expect((await describePod(name)).state).toMatch(waiting));
    expect(events).toMatch(new RegExp(`Warning +Failed .*Failed to pull image .*${words}`));
    expect(events).toMatch(/Warning +Failed .*Error: ErrImagePull/);
    expect(events).not.toContain('HTTP code');
  });
});

describe('a command that does not exist', () => {
  it('shows so while it is tried again', async () => {
    await waits('no-command', 'CrashLoopBackOff');
    await shows('no-command', async () => expect((await house.row('no-command')).status).toBe('CrashLoopBackOff'));
    const { events } = await describedWith('no-command', /BackOff/);
    const { lastState } = await describedInBackOff('no-command');
    expect(lastState).toMatch(endWithWords('ContainerCannotRun', '"/no/such/program".*no such file', 127));
    expect(events).toMatch(/Warning +Failed .*failed to start container "main".*\/no\/such\/program/);
  });

  it.each([
    ['is not in the path', 'no-command-once', 'no-such-program', 127],
    ['cannot be executed', 'not-executable', 'permission denied', 126],
  ])('because it %s shows so when it is not tried again', async (_, name, words, exitCode) => {
    await ends(name, 'Failed');
    expect((await house.row(name)).status).toBe('ContainerCannotRun');
    expect((await describePod(name)).state).toMatch(endWithWords('ContainerCannotRun', words, exitCode));
  });
});

describe('a container that exits', () => {
  it('shows its exit code and that it is waited with, while it is tried again', async () => {
    await waits('fails', 'CrashLoopBackOff');
    await shows('fails', async () =>
      expect(await house.row('fails')).toMatchObject({ ready: '0/1', status: 'CrashLoopBackOff' }),
    );
    const { events } = await describedWith('fails', /Warning +BackOff/);
    const { lastState } = await describedInBackOff('fails');
    expect(lastState).toMatch(endOf('Error', 7));
    expect(events).toMatch(/Back-off restarting failed container main in pod fails_default/);
  });

  it.each([
    ['Error', 'fails-once', 'Failed', 8],
    ['Completed', 'completes', 'Succeeded', 0],
    ['Error', 'killed-child', 'Failed', 137],
  ])('for good shows %s (%s)', async (reason, name, phase, exitCode) => {
    await ends(name, phase);
    expect((await house.row(name)).status).toBe(reason);
    const { state, text } = await describePod(name);
    expect(state).toMatch(endOf(reason, exitCode));
    expect(text).toMatch(new RegExp(`^Status: +${phase}`, 'm'));
  });
});

describe('a container that is killed for memory', () => {
  it('shows so, also when that was its very first moment', async () => {
    for (const name of oomPods) {
      const pod = await ends(name, 'Failed');
      expect(containerOf(pod).state.terminated, name).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
      expect((await house.row(name)).status).toBe('OOMKilled');
      expect((await describePod(name)).state).toMatch(endOf('OOMKilled', 137));
    }
  });

  it('shows so when the kernel took a process of its own', async () => {
    await ends('oom-child', 'Failed');
    expect((await house.row('oom-child')).status).toBe('OOMKilled');
    expect((await describePod('oom-child')).state).toMatch(endOf('OOMKilled', 3));
  });

  it('shows so as its last state while it is tried again, and still does under an agent that was killed meanwhile', async () => {
    await waits('oom-loop', 'CrashLoopBackOff');
    await shows('oom-loop', async () => expect((await house.row('oom-loop')).status).toBe('CrashLoopBackOff'));
    expect((await describedInBackOff('oom-loop')).lastState).toMatch(endOf('OOMKilled', 137));
    process.kill(house.berth.pid('agent'), 'SIGKILL');
    await eventually('the agent serves again', async () =>
      (await house.exec('deaf', 'echo', 'here')) === 'here\n' ? true : undefined,
    );
    const pod = await house.until('oom-loop', 'has a last state', (each) => last(each.status.containerStatuses) !== undefined);
    expect(last(pod.status.containerStatuses)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });
});

function last(statuses: readonly ContainerJson[] | undefined) {
  return statuses?.[0]?.lastState?.terminated;
}

describe('a container that never stops', () => {
  it('shows that it is on its way out, and is killed when its grace period is over, as its events say', async () => {
    await house.until('deaf', 'runs', isReady);
    await house.berth.ok('delete', 'pod', 'deaf', '--no-wait');
    expect((await house.row('deaf')).status).toBe('Terminating');
    const { text } = await describedWith('deaf', /Normal +Killing .*Stopping container main/);
    expect(text).toMatch(/^Status: +Terminating/m);
    expect(text).toMatch(/grace period:? +12s/i);
    await house.berth.ok('wait', '--for=delete', 'pod/deaf', '--timeout=120s');
    expect((await containersOf(house.berth.nodeName)).filter((each) => each.pod === 'deaf')).toEqual([]);
    await eventually('an event says that it was killed', async () =>
      (await house.events('deaf')).find(
        ({ type, message }) => type === 'Warning' && /did not end within its grace period of 12s and was killed/.test(message),
      ),
    );
  });
});
