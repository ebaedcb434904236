import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, eventually, run } from './installation.ts';
import { containerOf, createPodHouse, image, isReady, type PodHouse, podOf, script, stay } from './pods-fixture.ts';
import { copyImage, createPrivateEngine, type PrivateEngine } from './private-engine.ts';

// The engine stops and starts under a running Berth. An engine of the tests' own, because other tests need theirs.
let engine: PrivateEngine;
let house: PodHouse;
const hostPort = 18_080;
const machineEngine = process.env.DOCKER_HOST;
const mounts = { volumeMounts: [{ name: 'memory', mountPath: '/memory' }] };
const withMemory = { volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }] };
const web = {
  ...script('echo page >/memory/index.html; exec httpd -f -p 80 -h /memory', mounts),
  ports: [{ containerPort: 80, hostPort }],
};
/** What runs, from the first round to the last. */
const staying = ['web', 'single'];

beforeAll(async () => {
  engine = await createPrivateEngine('restart');
  await engine.start({ liveRestore: true });
  await copyImage(engine, image);
  process.env.DOCKER_HOST = engine.host;
  house = await createPodHouse('engine');
  await house.apply(
    podOf('web', [web, script(stay, { name: 'side' })], withMemory),
    // An end that the engine brings about is a failure for this one: with exit code 0 it would be done.
    podOf('single', [script('trap "exit 1" TERM; while :; do sleep 1000 & wait; done')], { restartPolicy: 'OnFailure' }),
    podOf('done', [script('exit 0')], { restartPolicy: 'Never' }),
    podOf('once', [script(stay)], { restartPolicy: 'Never' }),
    podOf('leaves', [script(stay)]),
  );
  for (const name of [...staying, 'once', 'leaves']) await house.running(name);
  await house.until('done', 'has ended', (pod) => pod.status.phase === 'Succeeded');
});
afterAll(async () => {
  try {
    // A test that failed may have left it stopped, and what is to be removed is its.
    await engine?.start({ liveRestore: false });
    await house?.berth.purge();
  } finally {
    if (machineEngine === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = machineEngine;
    await engine?.remove();
  }
});

interface NodeJson {
  readonly status: { readonly conditions: readonly { type: string; status: string; reason: string; message: string }[] };
}
const nodeReady = async () => {
  const node: NodeJson = JSON.parse(await house.berth.ok('get', 'node', house.berth.nodeName, '-o', 'json'));
  return node.status.conditions.find(({ type }) => type === 'Ready');
};
const nodeRow = async () => (await house.berth.ok('get', 'node', house.berth.nodeName)).split('\n')[1] ?? '';
const live = async () => (await containersOf(house.berth.nodeName)).filter((each) => each.state === 'running');
const copies = async () => (await live()).map((each) => `${each.pod}/${each.container}`).sort();
const ids = async () => (await live()).map((each) => each.id).sort();
const restarts = async () =>
  Object.fromEntries(
    await Promise.all(
      staying.map(async (name) => [
        name,
        (await house.pod(name)).status.containerStatuses?.map((each) => each.restartCount) ?? [],
      ]),
    ),
  ) as Record<string, number[]>;

/** The node says that its engine is away, within a bounded time. */
async function saysSo(): Promise<void> {
  const condition = await eventually('the node is not ready', async () => {
    const found = await nodeReady();
    return found?.status === 'False' ? found : undefined;
  });
  expect(condition.reason).toBe('KubeletNotReady');
  expect(condition.message).toContain('the container engine does not answer');
  expect(await nodeRow()).toContain(' NotReady ');
  expect(await house.berth.ok('describe', 'node', house.berth.nodeName)).toMatch(
    /Ready +False .*KubeletNotReady +the container engine does not answer/,
  );
}

/**
 * Everything works again: the node, the pods, their network, their ports, commands;
 * and there is nothing more than that.
 */
async function recovers(expected: readonly string[]): Promise<void> {
  await eventually('the node is ready', async () => ((await nodeReady())?.status === 'True' ? true : undefined));
  await eventually(
    'every container runs exactly once',
    async () => {
      expect(await copies()).toEqual(expected);
      return true;
    },
    120_000,
  );
  for (const name of staying) await house.until(name, 'is ready', isReady, 120_000);
  expect(await house.sh('single', 'echo here')).toBe('here\n');
  await eventually('the page is there on the host port', async () => {
    const { stdout } = await run('curl', ['-sf', '--max-time', '5', `http://127.0.0.1:${hostPort}/`]);
    return stdout === 'page\n' ? true : undefined;
  });
  const { podIP } = (await house.pod('web')).status;
  expect(await house.sh('single', `wget -q -O - http://${podIP}/`)).toBe('page\n');
  expect(await house.sh('web', 'cat /memory/index.html', 'main')).toBe('page\n');
  // Of what has ended one container is kept for its log, and no sandbox.
  const all = (await containersOf(house.berth.nodeName)).filter((each) => staying.includes(each.pod));
  for (const [pod, container] of [
    ['web', 'main'],
    ['web', 'side'],
    ['single', 'main'],
  ])
    expect(all.filter((each) => each.pod === pod && each.container === container).length).toBeLessThanOrEqual(2);
  await eventually('no dead sandbox is left', async () => {
    const sandboxes = (await containersOf(house.berth.nodeName)).filter((each) => each.container === 'POD');
    return sandboxes.filter((each) => staying.includes(each.pod)).length === staying.length ? true : undefined;
  });
}

const everything = (...more: string[]) => ['single/POD', 'single/main', 'web/POD', 'web/main', 'web/side', ...more].sort();

describe('an engine that comes back with its containers', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('after %s: the node says so meanwhile, and nothing was restarted', async (signal) => {
    const expected = everything('leaves/POD', 'leaves/main', 'once/POD', 'once/main');
    // The sandbox of the pod that is done ends after the pod.
    await eventually('nothing else runs', async () => {
      expect(await copies()).toEqual(expected);
      return true;
    });
    const [before, counts] = [await ids(), await restarts()];
    await engine.stop(signal);
    await saysSo();
    await engine.start({ liveRestore: true });
    await recovers(expected);
    expect(await ids()).toEqual(before);
    expect(await restarts()).toEqual(counts);
  });
});

describe('an engine that comes back without its containers', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'after %s: the node says so meanwhile, and each is there again exactly once',
    async (signal) => {
      const counts = await restarts();
      await engine.stop(signal);
      await saysSo();
      // What is asked for meanwhile is done when it is back.
      if (signal === 'SIGTERM') await house.berth.ok('delete', 'pod', 'leaves', '--no-wait');
      await engine.start({ liveRestore: false });
      await recovers(everything());
      await house.berth.ok('wait', '--for=delete', 'pod/leaves', '--timeout=60s');
      expect(await restarts()).toEqual(plusOne(counts));
    },
  );

  it('leaves as they are the pods that had ended, and those that were to run once', async () => {
    const once = await house.until('once', 'has ended', (pod) => ['Failed', 'Succeeded'].includes(pod.status.phase));
    expect(containerOf(once)).toMatchObject({ restartCount: 0, state: { terminated: { containerID: expect.any(String) } } });
    expect((await house.pod('done')).status.phase).toBe('Succeeded');
    expect(containerOf(await house.pod('done'))).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0 } } });
  });

  it('is followed by pods that start and end as ever, and leaves nothing when all are gone', async () => {
    await house.apply(podOf('fresh', [script(stay)]));
    await house.running('fresh');
    await house.berth.ok('delete', 'pod', 'fresh', 'done', 'once', ...staying);
    expect(await containersOf(house.berth.nodeName)).toEqual([]);
    expect((await engine.docker('ps', '-aq')).trim()).toBe('');
    const links = `${(await engine.inside('ip', '-o', 'link')).stdout}${(await run('ip', ['-o', 'link'])).stdout}`;
    expect(links).not.toMatch(/veth|bth[0-9a-f]{12}/);
    expect((await run('nft', ['list', 'tables'])).stdout).toContain('berth_');
    expect((await run('nft', ['list', 'ruleset'])).stdout).not.toContain(String(hostPort));
  });
});

function plusOne(counts: Record<string, number[]>): Record<string, number[]> {
  return Object.fromEntries(Object.entries(counts).map(([name, list]) => [name, list.map((count) => count + 1)]));
}
