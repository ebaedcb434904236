import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, freePort } from './installation.ts';
import { conditionOf, containerOf, housed, image, isReady, type PodHouse, type PodJson } from './pods-fixture.ts';

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

const page = (text: string) => `
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: ${image}
    imagePullPolicy: Never
    command: [sh, -c, 'mkdir -p /www; echo ${text} > /www/index.html; echo serves ${text}; exec httpd -f -p 8080 -h /www']
    readinessProbe: {httpGet: {port: 8080}}
`;
const plain = (name: string, more = '') => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: app, image: ${image}, imagePullPolicy: Never, command: [sleep, '10000'], ${more}}
`;

// One story: a machine that runs pods by itself, with and without a server.
describe('static pods', () => {
  let house: PodHouse;
  let folder: string;
  let web: string;
  let agent: ChildProcess | undefined;

  const put = (file: string, text: string) => {
    writeFileSync(join(folder, `.${file}`), text);
    renameSync(join(folder, `.${file}`), join(folder, file));
  };
  const idOf = (pod: PodJson) => containerOf(pod).containerID?.replace('docker://', '');
  const running = async (pod: string) =>
    (await containersOf(house.berth.nodeName)).filter(
      (each) => each.pod === pod && each.container === 'app' && each.state === 'running',
    );
  const annotation = async (pod: string, name: string) =>
    (JSON.parse(await house.berth.ok('get', 'pod', pod, '-o', 'json')) as { metadata: { annotations: Record<string, string> } })
      .metadata.annotations[`kubernetes.io/config.${name}`];

  beforeAll(async () => {
    const berth = await createInstallation('statics');
    house = housed(berth);
    folder = join(mkdtempSync(join(tmpdir(), 'berth-statics-')), 'manifests');
    mkdirSync(folder);
    web = `web-${berth.nodeName}`;
    put('web.yaml', page('first'));
    put('wrong.yaml', plain('wrong', 'envFrom: [{secretRef: {name: x}}]'));
    await berth.up('--pod-manifest-path', folder);
    await house.running(web);
  });
  afterAll(async () => {
    agent?.kill('SIGKILL');
    await house?.berth.purge();
    rmSync(join(folder, '..'), { recursive: true, force: true });
  });

  it('run under the name of their node, and the API shows them as pods', async () => {
    const { berth } = house;
    expect(await annotation(web, 'source')).toBe('file');
    expect(await annotation(web, 'mirror')).toBe(await annotation(web, 'hash'));
    expect(await berth.ok('logs', web)).toBe('serves first\n');
    expect(await house.sh(web, 'cat /www/index.html')).toBe('first\n');
    const file = join(folder, '..', 'copied');
    await berth.ok('cp', `${web}:/www/index.html`, file);
    expect(readFileSync(file, 'utf8')).toBe('first\n');
    const told = await berth.ok('describe', 'pod', web);
    expect(told).toMatch(new RegExp(`Controlled By: +Node/${berth.nodeName}`));
    expect(told).toMatch(/Started +.*Started container app/);
  });

  it('are reached by port-forward through their mirrors', async () => {
    const port = await freePort();
    const forward = spawn(process.execPath, [launcher, 'port-forward', `pod/${web}`, `${port}:8080`], {
      env: { ...process.env, BERTH_CONFIG: house.berth.config },
      stdio: 'ignore',
    });
    try {
      await eventually('the page comes', async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/`);
        return (await answer.text()) === 'first\n' ? true : undefined;
      });
    } finally {
      forward.kill();
    }
  });

  it('are refused with file, line and reason when they name what only the API has', async () => {
    const { items } = JSON.parse(await house.berth.ok('get', 'events', '-A', '-o', 'json')) as {
      items: { reason: string; message: string }[];
    };
    const found = items.find(({ reason }) => reason === 'InvalidStaticPod');
    expect(found?.message).toContain(
      'wrong.yaml:8: spec.containers[0].envFrom[0].secretRef: forbidden: static pods may not reference secrets',
    );
    expect(await running(`wrong-${house.berth.nodeName}`)).toEqual([]);
    rmSync(join(folder, 'wrong.yaml'));
  });

  it('stay as they are when their mirrors are deleted or changed', async () => {
    const before = await house.pod(web);
    const changed = await house.berth.berth(['patch', 'pod', web, '-p', '{"spec":{"activeDeadlineSeconds":5}}']);
    expect(changed.stderr).toContain(`a mirror pod shows what a file on node "${house.berth.nodeName}" says: change that file`);
    await house.berth.ok('delete', 'pod', web);
    const after = await house.until(web, 'is shown again', (pod) => pod.metadata.uid !== before.metadata.uid && isReady(pod));
    expect(idOf(after)).toBe(idOf(before));
    expect(containerOf(after).restartCount).toBe(0);
  });

  it('go on when the agent is killed, with the very same containers', async () => {
    const before = await house.pod(web);
    const pid = house.berth.pid('agent');
    process.kill(pid, 'SIGKILL');
    await eventually('another agent', async () => (house.berth.pid('agent') === pid ? undefined : true));
    await eventually('it serves', async () => ((await house.sh(web, 'echo here')) === 'here\n' ? true : undefined));
    const after = await house.running(web);
    expect([idOf(after), after.metadata.uid, conditionOf(after, 'Ready')?.lastTransitionTime]).toEqual([
      idOf(before),
      before.metadata.uid,
      conditionOf(before, 'Ready')?.lastTransitionTime,
    ]);
  });

  it('start, change and end while no API server is there, and it hears of that when it comes', async () => {
    const { berth } = house;
    const node = berth.nodeName;
    const before = idOf(await house.pod(web));
    await berth.ok('down', '--data-dir', berth.dataDir);
    put('alone.yaml', plain('alone'));
    const args = [
      'agent',
      '--server',
      berth.address,
      '--data-dir',
      berth.dataDir,
      '--node-name',
      node,
      '--pod-manifest-path',
      folder,
    ];
    agent = spawn(process.execPath, [launcher, ...args], { stdio: 'ignore' });
    const [alone] = await eventually('a pod without a server', async () => {
      const found = await running(`alone-${node}`);
      return found.length > 0 ? found : undefined;
    });
    expect((await running(web)).map(({ id }) => id)).toEqual([before]);
    put('web.yaml', page('second'));
    const [second] = await eventually('the changed pod', async () => {
      const found = await running(web);
      return found.length === 1 && found[0]?.id !== before ? found : undefined;
    });
    agent.kill('SIGKILL');
    await berth.up();
    // Until the agent is connected the server shows the mirror of before.
    await house.until(web, 'shows the changed pod', (pod) => idOf(pod) === second?.id);
    expect(idOf(await house.running(`alone-${node}`))).toBe(alone?.id);
    expect(await berth.ok('logs', web)).toBe('serves second\n');
  });

  it('have their figures, and end with their files, and their mirrors go', async () => {
    await eventually('figures', async () => ((await house.berth.ok('top', 'pods')).includes(web) ? true : undefined));
    rmSync(join(folder, 'web.yaml'));
    await house.berth.ok('wait', '--for=delete', `pod/${web}`, '--timeout=60s');
    expect((await containersOf(house.berth.nodeName)).filter(({ pod }) => pod === web)).toEqual([]);
    expect(await running(`alone-${house.berth.nodeName}`)).toHaveLength(1);
  });
});
