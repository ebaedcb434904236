import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, freePort, type Installation } from './installation.ts';

// The README's walk, as a new user types it: real processes, real containers, the built command line.
let berth: Installation;
let page: string;
let manifest: string;

beforeAll(async () => {
  berth = await createInstallation('walk');
  const port = await freePort();
  page = `http://127.0.0.1:${port}/`;
  manifest = readFileSync(new URL('../../examples/hello.yaml', import.meta.url), 'utf8').replace(
    'hostPort: 8080',
    `hostPort: ${port}`,
  );
  await berth.up();
});
afterAll(() => berth.purge());

const podJson = async (name: string) => JSON.parse(await berth.ok('get', 'pod', name, '-o', 'json'));

describe('the walk of a new user', () => {
  it('shows the machine as a ready node with what it has and uses', async () => {
    expect(await berth.ok('get', 'nodes')).toMatch(new RegExp(`NAME +STATUS +ROLES +AGE +VERSION\n${berth.nodeName} +Ready `));
    const node = JSON.parse(await berth.ok('get', 'node', berth.nodeName, '-o', 'json'));
    expect(node).toMatchObject({ apiVersion: 'v1', kind: 'Node' });
    expect(Number(node.status.capacity.cpu)).toBeGreaterThan(0);
    const usage = await eventually('usage is reported', async () => {
      const { status } = JSON.parse(await berth.ok('get', 'node', berth.nodeName, '-o', 'json'));
      return status.usage?.memory ? status.usage : undefined;
    });
    expect(usage.cpu).toBeDefined();
  });

  it('runs the hello manifest: a page, written by a sidecar into a volume that both see', async () => {
    const { code, stdout, stderr } = await berth.berth(['apply', '-f', '-'], manifest);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe('configmap/hello created\npod/hello created\n');
    await berth.ok('wait', '--for=condition=Ready', 'pod/hello', '--timeout=60s');
    const html = await eventually('the page is there', async () => {
      const response = await fetch(page);
      return response.ok ? await response.text() : undefined;
    });
    expect(html).toContain('Hello from Berth');
    expect(html).toContain(berth.nodeName);
  });

  it('prints pods as kubectl does, and as Kubernetes JSON', async () => {
    expect(await berth.ok('get', 'pods')).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE\nhello +2\/2 +Running +0 +\d+s\n$/);
    const all = JSON.parse(await berth.ok('get', 'pods', '-A', '-o', 'json'));
    expect(all).toMatchObject({ apiVersion: 'v1', kind: 'List' });
    const [pod] = all.items;
    expect(pod).toMatchObject({ kind: 'Pod', spec: { nodeName: berth.nodeName }, status: { phase: 'Running' } });
    expect(pod.status.podIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(
      pod.status.containerStatuses.map((each: { ready: boolean; restartCount: number }) => [each.ready, each.restartCount]),
    ).toEqual([
      [true, 0],
      [true, 0],
    ]);
    expect(await berth.ok('get', 'po', '-o', 'name', '-l', 'app=hello')).toBe('pod/hello\n');
  });

  it('labels its containers as promised', async () => {
    const found = await containersOf(berth.nodeName);
    expect(found.map((each) => `${each.pod}/${each.container}/${each.state}`).sort()).toEqual([
      'hello/POD/running',
      'hello/web/running',
      'hello/writer/running',
    ]);
  });

  it('says that a second apply changes nothing', async () => {
    const { stdout } = await berth.berth(['apply', '-f', '-'], manifest);
    expect(stdout).toBe('configmap/hello unchanged\npod/hello unchanged\n');
  });

  it('shows logs of one container, whole and by tail', async () => {
    await eventually('the writer wrote', async () =>
      (await berth.ok('logs', 'hello', '-c', 'writer')).includes('wrote the page') ? true : undefined,
    );
    expect(await berth.ok('logs', 'hello', '-c', 'writer', '--tail', '1')).toBe('wrote the page\n');
  });

  it('runs commands in a container with input, output and exit code', async () => {
    expect(await berth.ok('exec', 'hello', '-c', 'web', '--', 'cat', '/www/index.html')).toContain('Hello from Berth');
    const echoed = await berth.berth(['exec', '-i', 'hello', '-c', 'web', '--', 'cat'], 'one\ntwo\n');
    expect(echoed).toMatchObject({ code: 0, stdout: 'one\ntwo\n' });
    const failed = await berth.berth(['exec', 'hello', '-c', 'web', '--', 'sh', '-c', 'echo bad >&2; exit 7']);
    expect(failed).toMatchObject({ code: 7, stdout: '' });
    expect(failed.stderr).toContain('bad\n');
  });

  it('describes a pod with its events', async () => {
    const text = await berth.ok('describe', 'pod', 'hello');
    for (const part of ['Name:', 'hello', 'Status:', 'Running', 'Events:', 'Scheduled', 'Started']) expect(text).toContain(part);
  });

  it('answers mistakes with one plain sentence and exit code 1', async () => {
    const missing = await berth.berth(['get', 'pod', 'nothing']);
    expect(missing).toMatchObject({ code: 1, stdout: '', stderr: 'error: pod "nothing" in namespace "default" not found\n' });
    const unknown = await berth.berth(['get', 'things']);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(/^error: the server has no resource type "things"/);
    const typo = await berth.berth(['apply', '-f', '-'], manifest.replace('image: berth', 'imagee: berth'));
    expect(typo.code).toBe(1);
    expect(typo.stderr).toContain('spec.containers[0].imagee');
  });

  it('survives kill -9 of server and agent: containers untouched, the walk goes on', async () => {
    const before = (await containersOf(berth.nodeName)).map((each) => each.id).sort();
    const version = (await podJson('hello')).metadata.uid;
    process.kill(berth.pid('server'), 'SIGKILL');
    process.kill(berth.pid('agent'), 'SIGKILL');
    await eventually('both are back', async () => {
      await berth.ok('get', 'nodes');
      return (await berth.ok('exec', 'hello', '-c', 'web', '--', 'true')) === '' ? true : undefined;
    });
    expect((await podJson('hello')).metadata.uid).toBe(version);
    expect((await containersOf(berth.nodeName)).map((each) => each.id).sort()).toEqual(before);
    expect((await podJson('hello')).status.containerStatuses.map((each: { restartCount: number }) => each.restartCount)).toEqual([
      0, 0,
    ]);
  });

  it('deletes the pod and leaves nothing behind', async () => {
    expect(await berth.ok('delete', 'pod', 'hello')).toBe('pod "hello" deleted\n');
    expect(await containersOf(berth.nodeName)).toEqual([]);
    expect((await berth.berth(['get', 'pods'])).stderr).toBe('No resources found in default namespace.\n');
  });
});
