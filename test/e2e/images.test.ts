import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DebianRegistry, startDebianRegistry, user } from './debian-registry.ts';
import { eventually, freePort, run } from './installation.ts';
import { image as busybox, containerOf, createPodHouse, isReady, type PodHouse, podOf, stay } from './pods-fixture.ts';
import { type Registry, startRegistry } from './registry.ts';

// A node of its own, so that its agent can be told about images and be started again; beside it a registry with
// passwords and an open one.
let house: PodHouse;
let node: string;
let agent: ChildProcess | undefined;
let locked: DebianRegistry;
let open: Registry;
let digest: string;

beforeAll(async () => {
  [locked, open, house] = await Promise.all([startDebianRegistry(), startRegistry(), createPodHouse('images')]);
  node = `${house.berth.nodeName}-b`;
  for (const name of ['app', 'given', 'other', 'always']) digest = await locked.push(busybox, `${name}:1`);
  const auths = { [`${locked.address}/given`]: { auth: Buffer.from(`${user.name}:${user.password}`).toString('base64') } };
  writeFileSync(join(house.berth.dataDir, '..', 'login.json'), JSON.stringify({ auths }));
  await startAgent();
});
afterAll(async () => {
  agent?.kill('SIGTERM');
  await house.berth.purge();
  await Promise.all([locked.stop(), open.close()]);
});

async function startAgent(...flags: string[]): Promise<void> {
  const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
  const { address, dataDir } = house.berth;
  const where = ['--node-name', node, '--server', address, '--data-dir', dataDir, '--log-level', 'warn'];
  const images = ['--registry-config', join(dataDir, '..', 'login.json'), '--image-pull-progress-deadline', '5s'];
  agent = spawn(process.execPath, [launcher, 'agent', ...where, ...images, ...flags], { stdio: 'ignore' });
  await eventually(
    'the second node is ready',
    async () =>
      (await house.berth.ok('get', 'nodes'))
        .split('\n')
        .some((line) => line.startsWith(`${node} `) && line.includes(' Ready ')) || undefined,
  );
}

async function stopAgent(): Promise<void> {
  const ended = new Promise((resolve) => agent?.once('exit', resolve));
  agent?.kill('SIGTERM');
  await ended;
}

function pod(name: string, reference: string, imagePullPolicy: string, ...secrets: string[]): object {
  const container = { name: 'main', image: reference, imagePullPolicy, command: ['sh', '-c', stay] };
  const imagePullSecrets = secrets.map((each) => ({ name: each }));
  return podOf(name, [container], { imagePullSecrets, nodeSelector: { 'kubernetes.io/hostname': node } });
}

const waitsFor = (name: string, reason: string) =>
  house.until(name, `waits: ${reason}`, (each) => each.status.containerStatuses?.[0]?.state.waiting?.reason === reason);
const messageOf = async (name: string, reason: string) => containerOf(await waitsFor(name, reason)).state.waiting?.message ?? '';
const wordsOf = async (name: string) =>
  (await house.events(name)).map(({ reason, message }) => `${reason}: ${message}`).join('\n');
const isHere = async (reference: string) => (await run('docker', ['image', 'inspect', reference])).code === 0;

describe('an image behind a password', () => {
  beforeAll(async () => {
    const login = ['--docker-server', locked.address, '--docker-username', user.name];
    await house.berth.ok('create', 'secret', 'docker-registry', 'right', ...login, '--docker-password', user.password);
    await house.berth.ok('create', 'secret', 'docker-registry', 'wrong', ...login, '--docker-password', 'wrong');
    const app = `${locked.address}/app:1`;
    await house.apply(
      pod('right', app, 'IfNotPresent', 'wrong', 'right'),
      pod('digest', `${locked.address}/app:1@${digest}`, 'Always', 'right'),
      pod('of-node', `${locked.address}/given:1`, 'IfNotPresent'),
      pod('wrong', `${locked.address}/other:1`, 'IfNotPresent', 'wrong'),
      pod('missing', `${locked.address}/other:1`, 'IfNotPresent', 'absent'),
    );
    await house.running('right');
    // Now it is on the machine, and others want it too.
    await house.apply(
      pod('guest', app, 'IfNotPresent'),
      pod('guest-never', app, 'Never'),
      pod('guest-always', app, 'Always', 'wrong'),
      pod('same-login', app, 'Never', 'right'),
    );
  });

  it("is pulled with the pod's Secrets, tried one after the other, or with the node's own login, by tag and by digest", async () => {
    for (const name of ['right', 'digest', 'of-node', 'same-login']) {
      const { imageID } = containerOf(await house.running(name)) as unknown as { imageID: string };
      expect(imageID).toMatch(new RegExp(`^docker-pullable://${locked.address}/(app|given)@${digest}$`));
    }
    expect(await wordsOf('right')).toMatch(
      /Pulled: Successfully pulled image ".*" in .*s \(.*s including waiting\)\. Image size: \d+ bytes\./,
    );
    expect(await wordsOf('same-login')).toContain('already present on machine and can be accessed by the pod');
  });

  it('is not pulled with a wrong password or without the Secret, which the events say', async () => {
    expect(await messageOf('wrong', 'ImagePullBackOff')).toContain('unauthorized');
    expect(await messageOf('missing', 'ImagePullBackOff')).toContain('no basic auth credentials');
    expect(await wordsOf('missing')).toContain(
      'FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (absent)',
    );
    expect(await wordsOf('wrong')).toContain('Failed: Error: ErrImagePull');
  });

  it('is not given to pods that could not pull it, although another has brought it onto the machine', async () => {
    expect(await messageOf('guest', 'ImagePullBackOff')).toContain('no basic auth credentials');
    expect(await messageOf('guest-always', 'ImagePullBackOff')).toContain('unauthorized');
    expect(await messageOf('guest-never', 'ErrImageNeverPull')).toContain('no credentials');
  });
});

describe('a registry that fails', () => {
  beforeAll(async () => {
    // Takes most of a minute, while the others stall.
    await house.apply(pod('drips', `${open.address}/drips:1`, 'IfNotPresent'));
  });

  it('in mid-pull is given up with the reason, and the pods of another start meanwhile', async () => {
    await house.apply(
      ...['a', 'b', 'c', 'd'].map((name) => pod(`stalls-${name}`, `${open.address}/stalls-${name}:1`, 'IfNotPresent')),
    );
    await eventually('a pull has begun', async () => (await wordsOf('stalls-a')).includes('Pulling: ') || undefined);
    await house.apply(pod('meanwhile', `${locked.address}/always:1`, 'Always', 'right'));
    await house.running('meanwhile');
    for (const name of ['a', 'b', 'c', 'd'])
      expect(await messageOf(`stalls-${name}`, 'ImagePullBackOff')).toMatch(/no progress for \d+s/);
  });

  it('is told how far a slow one is, and the pull goes on as long as something comes', async () => {
    const told = await eventually(
      'an event says how far it is',
      async () => /Pulling: Pulling image "[^"]+": (.*)/.exec(await wordsOf('drips'))?.[1],
      120_000,
    );
    expect(told).toMatch(/^0 of 1 layers, \d+ B of \d+ B/);
    await eventually('it is pulled', async () => (await wordsOf('drips')).includes('Pulled: Successfully pulled') || undefined);
    await house.berth.ok('delete', 'pod', 'drips');
  });

  it('is told when it is down', async () => {
    const nowhere = `127.0.0.1:${await freePort()}/app:1`;
    await house.apply(pod('down', nowhere, 'IfNotPresent'));
    expect(await messageOf('down', 'ImagePullBackOff')).toContain('connection refused');
  });
});

describe('a disk that is too full', () => {
  it('loses the unused images that Berth pulled, and no others', async () => {
    const of = (name: string) => `${open.address}/${name}:1`;
    const names = ['unused', 'used', 'pinned', 'named'];
    // There is no shell in them: their containers do not start, which needs the image all the same.
    await house.apply(...names.map((name) => pod(name, of(name), 'IfNotPresent')));
    for (const name of names) await eventually(`image ${name} is here`, async () => (await isHere(of(name))) || undefined);
    await run('docker', ['pull', of('foreign')]);
    await run('docker', ['tag', of('named'), 'berth-test/kept:1']);
    for (const name of ['unused', 'pinned', 'named']) await house.berth.ok('delete', 'pod', name);
    await stopAgent();
    const collection = ['--image-gc-high-threshold', '1', '--image-gc-low-threshold', '0', '--image-minimum-gc-age', '0s'];
    await startAgent(...collection, '--pinned-image', of('pinned'));
    await eventually('the image that nobody needs is gone', async () => !(await isHere(of('unused'))) || undefined);
    await eventually(
      'the node says what it could not free',
      async () => (await wordsOf(node)).includes('FreeDiskSpaceFailed: ') || undefined,
    );
    for (const name of ['used', 'pinned', 'named', 'foreign']) expect([name, await isHere(of(name))]).toEqual([name, true]);
    expect([isReady(await house.pod('right')), await isHere(`${locked.address}/app:1`)]).toEqual([true, true]);
    await run('docker', ['rmi', of('foreign'), 'berth-test/kept:1', of('pinned'), of('named')]);
  });
});
