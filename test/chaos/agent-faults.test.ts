import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, Probe } from '../../client/index.ts';
import { eventually, run } from '../e2e/installation.ts';
import { type ChaosHouse, createChaosHouse, idOf, podOf, restartsOf, untouched } from './chaos-house.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { isReady, namespace, stay } from './pod-churn.ts';
import type { BerthProcess } from './processes.ts';

// What goes wrong around an agent that itself is well: the server is away, a container or a command hangs,
// its clock is wrong.
const awayMs = effort(20_000, 240_000);

let house: ChaosHouse;

beforeAll(async () => {
  house = await createChaosHouse('faults');
});
afterAll(() => house?.close());

const probe = (command: string, periodSeconds = 1, timeoutSeconds = 5): Probe => ({
  handler: { exec: { command: ['sh', '-c', command] } },
  periodSeconds,
  timeoutSeconds,
  failureThreshold: 2,
});
const create = (...pods: Pod[]) => Promise.all(pods.map((pod) => house.client.pods.create(pod)));
const until: ChaosHouse['until'] = (...args) => house.until(...args);

/** The lines that a pod has written into a file of its emptyDir "disk". */
function linesOf(pod: Pod, nodeName: string, file: string): string[] {
  const path = join(house.dataDir, 'node', nodeName, 'pods', pod.metadata?.uid ?? '', 'volumes/emptyDir/disk', file);
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
}
const disk = {
  volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
  volumes: [{ name: 'disk', volumeSource: { emptyDir: {} } }],
};

describe('beside the house', () => {
  let agent: BerthProcess;
  beforeAll(() => {
    agent = house.startAgent();
  });
  afterEach(() => house.clear());
  afterAll(() => agent.kill());

  it('while the server is away containers are untouched, restarts and probes go on, and afterwards the status says so', async () => {
    const { volumeMounts, volumes } = disk;
    const looks = probe('echo 1 >>/disk/looks; test -e /tmp/well');
    await create(
      podOf('steady', stay, { volumeMounts, readinessProbe: probe('echo 1 >>/disk/looks') }, { volumes }),
      podOf('crashes', 'echo 1 >>/disk/starts; sleep 1; exit 3', { volumeMounts }, { volumes }),
      podOf('sick', `touch /tmp/well; ${stay}`, { volumeMounts, livenessProbe: looks }, { volumes }),
    );
    const steady = await until('steady', 'is ready', isReady);
    const sick = await until('sick', 'is ready', isReady);
    const crashes = await until('crashes', 'has crashed', (pod) => restartsOf(pod) > 0);
    const count = (pod: Pod, file: string) => linesOf(pod, house.nodeName, file).length;
    const counts = () => ({
      probes: count(steady, 'looks') + count(sick, 'looks'),
      starts: count(crashes, 'starts'),
    });

    await house.killServer();
    const since = Date.now();
    const before = counts();
    expect((await run('docker', ['exec', idOf(sick), 'rm', '/tmp/well'])).code).toBe(0);
    await eventually(
      'the sick container is another one',
      async () => ((await house.running('sick')).some(({ id }) => id !== idOf(sick)) ? true : undefined),
      120_000,
    );
    // As long as claimed, and until something of each has happened.
    await eventually(
      'the server was away for long enough',
      async () => {
        const now = counts();
        const enough = now.starts > before.starts && now.probes >= before.probes + 10;
        return enough && Date.now() - since >= awayMs ? true : undefined;
      },
      awayMs + 120_000,
    );
    const after = counts();
    expect((await house.running('steady')).map(({ id }) => id)).toEqual([idOf(steady)]);
    const seconds = Math.round((Date.now() - since) / 1_000);

    await house.startServer();
    await until('sick', 'was restarted once', (pod) => isReady(pod) && restartsOf(pod) === 1);
    // The first start is no restart.
    await until('crashes', 'has its restarts told', (pod) => restartsOf(pod) >= after.starts - 1);
    expect(untouched(await until('steady', 'is ready', isReady))).toEqual(untouched(steady));
    await eventually('the node is ready', async () => ((await house.nodeIsReady()) ? true : undefined));
    const probes = after.probes - before.probes;
    const restarts = after.starts - before.starts + 1;
    printCounts('server away', { seconds, probes, restarts, 'containers touched': 0, violations: 0 });
  });

  describe('what hangs does not affect other pods:', () => {
    let others = 0;

    /** Others come, live and go meanwhile, over and over in the long form. */
    async function othersAreWell(name: string): Promise<void> {
      const before = await until('neighbour', 'is ready', isReady);
      const end = Date.now() + effort(3_000, 60_000);
      for (others = 0; others === 0 || Date.now() < end; others++) {
        await create(podOf(name, stay, { readinessProbe: probe('true') }));
        await until(name, 'is ready', isReady);
        await house.client.pods.delete({ namespace, name });
        await eventually(`pod ${name} is gone`, async () =>
          (await house.client.pods.list({ namespace })).items.every(({ metadata }) => metadata?.name !== name) ? true : undefined,
        );
      }
      const after = await house.client.pods.get({ namespace, name: 'neighbour' });
      expect(untouched(after)).toEqual(untouched(before));
      expect(await house.nodeIsReady()).toBe(true);
    }

    beforeEach(async () => {
      await create(podOf('neighbour', stay, { livenessProbe: probe('true'), readinessProbe: probe('true') }));
      await until('neighbour', 'is ready', isReady);
    });

    it('a container whose runtime does not answer the engine', async () => {
      await create(podOf('frozen', stay, { livenessProbe: probe('true') }));
      const frozen = await until('frozen', 'is ready', isReady);
      const { stdout } = await run('docker', ['inspect', idOf(frozen), '--format', '{{.State.Pid}}']);
      const shim = Number(readFileSync(`/proc/${stdout.trim()}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]);
      expect(readFileSync(`/proc/${shim}/cmdline`, 'utf8')).toContain('containerd-shim');
      process.kill(shim, 'SIGSTOP');
      try {
        await house.client.pods.delete({ namespace, name: 'frozen' });
        await othersAreWell('beside-frozen');
        expect((await house.running('frozen')).length).toBe(1);
      } finally {
        process.kill(shim, 'SIGCONT');
      }
      await eventually(
        'the frozen pod is gone',
        async () => ((await house.running('frozen')).length === 0 ? true : undefined),
        180_000,
      );
      printCounts('container whose runtime hangs', { 'other pods meanwhile': others, violations: 0 });
    });

    it('a command of a probe that never ends', async () => {
      const hanging = probe('trap "" TERM; while :; do sleep 1; done', 1, 1);
      await create(podOf('hangs', stay, { readinessProbe: hanging }));
      await until('hangs', 'runs', (pod) => pod.status?.phase === 'Running');
      await othersAreWell('beside-probe');
      const hangs = await house.client.pods.get({ namespace, name: 'hangs' });
      expect([isReady(hangs), restartsOf(hangs)]).toEqual([false, 0]);
      printCounts('probe that hangs', { 'other pods meanwhile': others, violations: 0 });
    });
  });
});

/**
 * What becomes a program with another time of the day, as Debian's faketime makes it, which stays behind as its parent.
 */
function withClock(offset: string): string[] {
  const library = readdirSync('/usr/lib')
    .map((folder) => `/usr/lib/${folder}/faketime/libfaketimeMT.so.1`)
    .find((path) => existsSync(path));
  if (library === undefined) throw new Error('libfaketime is not here: install the package faketime');
  return ['env', `LD_PRELOAD=${library}`, `FAKETIME=${offset}`, 'FAKETIME_DONT_FAKE_MONOTONIC=1'];
}

describe('an agent whose clock is wrong', () => {
  afterAll(() => house.clear());
  /** The second restart waits 10 s, the third 20 s, ... */
  const restarts = effort(2, 4);

  async function lives(where: string, offset: string): Promise<void> {
    const nodeName = `${house.nodeName}-${where}`;
    house.startAgent(nodeName, { within: withClock(offset) });
    const here = { nodeSelector: { 'kubernetes.io/hostname': nodeName } };
    const crash = 'date +%s >>/disk/starts; sleep 0.1; exit 3';
    await create(
      podOf(`probed-${where}`, stay, { readinessProbe: { ...probe('true'), initialDelaySeconds: 1 } }, here),
      podOf(`crashes-${where}`, crash, { volumeMounts: disk.volumeMounts }, { ...here, volumes: disk.volumes }),
      podOf(`late-${where}`, stay, {}, { ...here, activeDeadlineSeconds: 5, restartPolicy: 'Never' }),
    );
    await until(`probed-${where}`, 'is ready', isReady);
    const isLate = ({ status }: Pod) => status?.phase === 'Failed' && status.reason === 'DeadlineExceeded';
    await until(`late-${where}`, 'has failed', isLate);
    const waits = (pod: Pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff';
    const crashes = await until(`crashes-${where}`, 'waits', waits);
    await until(`crashes-${where}`, `was restarted ${restarts} times`, (pod) => restartsOf(pod) >= restarts);
    // By the container's own clock, which is right: a clock that is ahead must not make the waits nothing. That one
    // which is behind does not make them longer than the patience here is seen above.
    const starts = linesOf(crashes, nodeName, 'starts').map(Number);
    for (let i = 2; i <= restarts; i++) expect(starts[i]! - starts[i - 1]!).toBeGreaterThanOrEqual(10 * 2 ** (i - 2) - 1);
    await eventually('the node is ready', async () => ((await house.nodeIsReady(nodeName)) ? true : undefined));
    printCounts(`clock wrong by ${offset}`, { restarts, violations: 0 });
  }

  it('starts, probes, restarts with back-off, ends and removes pods as with a right clock', async () => {
    await Promise.all([lives('ahead', '+600s'), lives('behind', '-600s')]);
  });
});
