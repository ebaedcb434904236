import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPodHouse, image, type PodHouse, podOf, script, stay } from './pods-fixture.ts';
import { openTerminal } from './pty.ts';

let house: PodHouse;
beforeAll(async () => {
  house = await createPodHouse('debug');
  await house.apply(podOf('web', [script(`echo 42 > /tmp/secret; ${stay}`)]));
  await house.running('web');
}, 240_000);
afterAll(() => house.berth.purge(), 120_000);

const debug = (args: readonly string[], input = '') =>
  house.berth.berth(['debug', 'web', `--image=${image}`, '--image-pull-policy=Never', ...args], input);

it('a container joins a running pod, sees the processes of its target, and reads what is typed', async () => {
  const piped = await debug(
    ['-i', '--quiet', '--container=pipe', '--target=main', '--env=WHO=me', '--', 'sh'],
    'echo $WHO; cat /proc/1/root/tmp/secret\n',
  );
  expect(piped).toMatchObject({ code: 0, stdout: 'me\n42\n' });
  const seen = await house.until('web', 'has ended the first', (pod) => ended(pod, 'pipe')?.exitCode === 0);
  expect(seen.status.phase).toBe('Running');
  expect(seen.status.containerStatuses?.[0]).toMatchObject({ restartCount: 0, ready: true });
  expect((await house.berth.ok('logs', 'web', '-c', 'pipe')).trim()).toBe('me\n42');

  const again = await debug(['--container=pipe', '--', 'true']);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/has a container "pipe" already/) });

  const terminal = await openTerminal(house.berth);
  try {
    terminal.type(`berth debug web -it --image=${image} --image-pull-policy=Never -c tty -- sh; echo "code=$?"\n`);
    await terminal.until("If you don't see a command prompt, try pressing enter.");
    terminal.type('echo from-$((40+2)); hostname\n');
    await terminal.until('from-42');
    await terminal.until('web');
    terminal.type('exit 3\n');
    await terminal.until(/code=\d/);
  } finally {
    terminal.close();
  }
  await house.until('web', 'keeps how it ended', (pod) => ended(pod, 'tty')?.exitCode === 3);
  const reasons = (await house.events('web')).map(({ reason }) => reason);
  expect(reasons).toEqual(expect.arrayContaining(['Created', 'Started']));
});

it('a copy of a pod runs beside it with another command', async () => {
  const made = await house.berth.berth([
    ...['debug', 'web', '--copy-to=copy', '--container=main', '--quiet'],
    ...['--', 'sh', '-c', 'echo copied; sleep 1000'],
  ]);
  expect(made).toMatchObject({ code: 0 });
  await house.running('copy');
  expect((await house.berth.ok('logs', 'copy')).trim()).toBe('copied');
});

it('a pod on a node sees the processes and the files of the machine', async () => {
  const { spec } = await house.running('web');
  const made = await house.berth.berth([
    ...['debug', `node/${spec.nodeName}`, `--image=${image}`, '--image-pull-policy=Never', '-i'],
    ...['--', 'sh', '-c', 'ls -d /host/etc; cat /proc/1/comm'],
  ]);
  const { pod } = /^Creating debugging pod (?<pod>\S+) with container debugger on node \S+\.\n/.exec(made.stdout)?.groups ?? {};
  expect(pod).toMatch(/^node-debugger-/);
  const comm = await readFile('/proc/1/comm', 'utf8');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`/host/etc\n${comm}`) });
  await house.berth.ok('delete', 'pod', pod ?? '');

  const none = await house.berth.berth(['debug', 'node/none', `--image=${image}`]);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/node "none" not found/) });
});

function ended(pod: object, name: string): { exitCode: number } | undefined {
  const { status } = pod as {
    status: { ephemeralContainerStatuses?: { name: string; state: { terminated?: { exitCode: number } } }[] };
  };
  return status.ephemeralContainerStatuses?.find((each) => each.name === name)?.state.terminated;
}
