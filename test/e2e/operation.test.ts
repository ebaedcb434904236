import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../client/index.ts';
import { metricTables } from '../../hack/metrics.ts';
import { createInstallation, eventually, freePort, type Installation } from './installation.ts';
import { listeningOf } from './listening.ts';
import { metricsPage, metricsTarget, sum } from './metrics-page.ts';

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
let berth: Installation;

beforeAll(async () => {
  berth = await createInstallation('operation');
  await berth.up();
  await berth.ok('run', 'web', '--image=berth/busybox', '--', 'sleep', '3600');
  await berth.ok('wait', 'pod/web', '--for=condition=Ready', '--timeout=120s');
});
afterAll(() => berth.purge());

const namesIn = ({ table }: (typeof metricTables)[number]): string[] => Object.values(table).map(({ name }) => name);
const targetOf = (component: 'server' | 'agent') => metricsTarget(berth.dataDir, component);
const scrape = (component: 'server' | 'agent', page?: string) => metricsPage(berth.dataDir, component, page);

describe('the metrics of a running Berth', () => {
  it('are all that the documents name, each on the page of one of the processes', async () => {
    const figures = [await scrape('agent', '/metrics/cadvisor'), await scrape('agent', '/metrics/resource')];
    const pages = [await scrape('server'), await scrape('agent'), ...figures];
    const shown = new Set(pages.flatMap((page) => [...page.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1])));
    const named = metricTables.flatMap(namesIn);
    // Without a limit, without writes to the disk, or on a kernel that does not tell, some figures of containers are
    // absent. The scheduler inside of a server does not compete for a lease.
    const isOften = (name: string): boolean => !name.startsWith('container_') && !name.startsWith('leader_election_');
    const always = named.filter(isOften);
    expect(always.filter((name) => !shown.has(name))).toEqual([]);
    expect([...shown].filter((name) => !named.includes(name ?? ''))).toEqual([]);
  });

  it('have moved with the first pod: in the API server, its store, the scheduler, the controllers and the agent', async () => {
    const [server, agent] = [await scrape('server'), await scrape('agent')];
    expect(sum(server, 'apiserver_request_total', 'code="OK"')).toBeGreaterThan(10);
    expect(sum(server, 'apiserver_request_duration_seconds_count', 'method="Create"')).toBeGreaterThan(0);
    expect(sum(server, 'apiserver_longrunning_requests', 'method="Watch"')).toBeGreaterThan(3);
    expect(sum(server, 'apiserver_registered_watchers', 'resource="pods"')).toBeGreaterThan(1);
    expect(sum(server, 'apiserver_storage_objects', 'resource="pods"')).toBe(1);
    expect(sum(server, 'berth_apiserver_watch_messages_total')).toBeGreaterThan(3);
    expect(sum(server, 'berth_storage_commit_duration_seconds_count')).toBeGreaterThan(3);
    expect(sum(server, 'apiserver_storage_size_bytes')).toBeGreaterThan(10_000);
    expect(sum(server, 'berth_storage_disk_free_bytes')).toBeGreaterThan(0);
    expect(sum(server, 'scheduler_schedule_attempts_total', 'result="scheduled"')).toBe(1);
    expect(sum(server, 'scheduler_binding_duration_seconds_count')).toBe(1);
    expect(sum(server, 'workqueue_adds_total', 'name="node-lifecycle"')).toBeGreaterThan(0);
    expect(sum(agent, 'kubelet_running_pods')).toBe(1);
    expect(sum(agent, 'kubelet_running_containers', 'container_state="running"')).toBe(1);
    expect(sum(agent, 'kubelet_runtime_operations_total', 'operation_type="run_podsandbox"')).toBe(1);
    expect(sum(agent, 'kubelet_pleg_relist_duration_seconds_count')).toBeGreaterThan(0);
    expect(sum(agent, 'kubelet_pod_worker_duration_seconds_count')).toBeGreaterThan(0);
    for (const page of [server, agent]) {
      expect(sum(page, 'process_cpu_seconds_total')).toBeGreaterThan(0);
      expect(sum(page, 'berth_build_info')).toBe(1);
    }
    const before = sum(server, 'apiserver_request_total', 'method="List"');
    await berth.ok('get', 'pods');
    expect(sum(await scrape('server'), 'apiserver_request_total', 'method="List"')).toBeGreaterThan(before);
  });

  it('cannot have a port that is taken when it was asked for by name', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { readonly port: number };
    const dataDir = `${berth.dataDir}-other`;
    const address = `127.0.0.1:${port}`;
    const listen = ['--listen', `127.0.0.1:${await freePort()}`];
    const { code, stderr } = await berth.berth(['server', '--data-dir', dataDir, ...listen, '--metrics-address', address]);
    taken.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`error: cannot serve metrics on ${address}: the port is taken`);
  });

  it('are found where they were noted also after a second server and a second agent were refused', async () => {
    const before = [targetOf('server'), targetOf('agent')];
    const { dataDir, nodeName, address } = berth;
    const server = await berth.berth(['server', '--data-dir', dataDir, '--listen', `127.0.0.1:${await freePort()}`]);
    const agent = await berth.berth(['agent', '--data-dir', dataDir, '--node-name', nodeName, '--server', address]);
    expect([server.code, agent.code]).toEqual([1, 1]);
    expect([targetOf('server'), targetOf('agent')]).toEqual(before);
  });
});

describe('what a running Berth shows to others', () => {
  it('listens with its server and its agent where it must, on loopback and for its pods, and nowhere else', async () => {
    const door = /server: https:\/\/(.*)/.exec(await berth.ok('kubeconfig'))![1];
    expect(listeningOf(berth.pid('server'))).toEqual([berth.address, door, targetOf('server')].sort());
    // Names, and the ways to both doors of the API server, for the cluster alone.
    const relay = /^10\.42\.0\.1:\d{4,5}$/;
    const all = listeningOf(berth.pid('agent'));
    expect(all.filter((each) => relay.test(each))).toHaveLength(2);
    expect(all.filter((each) => !relay.test(each))).toEqual(['10.42.0.1:53', targetOf('agent'), 'udp 10.42.0.1:53']);
  });

  it('has no key, no token and nothing of a Secret in metrics, logs, events, audit and descriptions', async () => {
    const planted = `planted-${randomBytes(9).toString('hex')}`;
    await berth.ok('create', 'secret', 'generic', 'planted', `--from-literal=key=${planted}`);
    const use = { name: 'KEY', valueFrom: { secretKeyRef: { name: 'planted', key: 'key' } } };
    const container = { name: 'main', image: 'berth/busybox', command: ['sh', '-c', 'sleep 3600'], env: [use] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'uses-it' }, spec: { containers: [container] } };
    const applied = await berth.berth(['apply', '-f', '-'], JSON.stringify(pod));
    expect(applied.code, applied.stderr).toBe(0);
    await berth.ok('wait', 'pod/uses-it', '--for=condition=Ready', '--timeout=120s');
    // A call that is refused is told of, too.
    await berth.berth(['create', 'secret', 'generic', 'planted', `--from-literal=key=${planted}`]);
    const shown = await Promise.all([
      ...(['server', 'agent'] as const).map((component) => scrape(component)),
      ...['/metrics/cadvisor', '/metrics/resource'].map((page) => scrape('agent', page)),
      berth.ok('describe', 'secret', 'planted'),
      berth.ok('describe', 'pod', 'uses-it'),
      berth.ok('describe', 'node', berth.nodeName),
      berth.ok('get', 'secrets', '-A', '-o', 'wide'),
      berth.ok('get', 'events', '-A', '-o', 'yaml'),
      berth.ok('get', 'pods', '-A', '-o', 'yaml'),
      berth.ok('audit', '-o', 'json', '--data-dir', berth.dataDir),
      berth.ok('history', 'secret', 'planted'),
      berth.ok('config', 'view'),
    ]);
    expect(shown[10]).toContain('planted');
    const read = (folder: string): string[] =>
      readdirSync(join(berth.dataDir, folder), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => readFileSync(join(berth.dataDir, folder, name), 'latin1'));
    const text = [...shown, ...read('logs'), ...read('run')].join('\n');
    const token = readFileSync(join(berth.dataDir, 'pki', 'admin.token'), 'utf8').trim();
    const keys = readdirSync(join(berth.dataDir, 'pki')).filter((name) => name.endsWith('.key'));
    const bodies = keys.map((name) => readFileSync(join(berth.dataDir, 'pki', name), 'utf8').split('\n')[1] ?? '');
    expect(bodies.length).toBeGreaterThan(2);
    const secrets = [planted, Buffer.from(planted).toString('base64'), token, ...bodies];
    expect(secrets.filter((secret) => text.includes(secret) || text.includes(Buffer.from(secret).toString('base64')))).toEqual(
      [],
    );
  });
});

describe('the logs of a running Berth', () => {
  it('change their level at run time in server and agent, by a signal without a reachable server', async () => {
    const agent = `agent/${berth.nodeName}`;
    const levels = async () =>
      (await berth.ok('log-level'))
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(/\s+/));
    expect(await levels()).toEqual([
      ['server', 'info'],
      [agent, 'info'],
    ]);
    expect(await berth.ok('log-level', 'server', 'debug')).toBe('server logs at level debug until it starts again\n');
    await berth.ok('log-level', agent, 'warn');
    expect(await levels()).toEqual([
      ['server', 'debug'],
      [agent, 'warn'],
    ]);
    await berth.berth(['get', 'pod', 'no-such-pod']);
    const log = readFileSync(join(berth.dataDir, 'logs', 'server.log'), 'utf8')
      .trim()
      .split('\n');
    const refusals = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'a call was refused');
    expect(refusals).toContainEqual(
      expect.objectContaining({ code: 'NOT_FOUND', user: 'admin', requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) }),
    );
    process.kill(berth.pid('agent'), 'SIGUSR2');
    await eventually('the agent logs everything', async () => ((await levels())[1]?.[1] === 'debug' ? true : undefined));
    expect((await berth.berth(['log-level', 'server', 'loud'])).stderr).toContain('"loud" is no log level');
  });
});

describe('a server and an agent that are told to stop', () => {
  it('end with code 0 and are started again, with the levels that they began with', async () => {
    for (const name of ['server', 'agent'] as const) {
      const before = berth.pid(name);
      process.kill(before, 'SIGTERM');
      const startLog = () => readFileSync(join(berth.dataDir, 'logs', `${name}.start.log`), 'utf8');
      await eventually(`the ${name} ends`, async () => (startLog().includes(`${name} ended with code 0`) ? true : undefined));
      await eventually(`the ${name} runs again`, async () => (berth.pid(name) !== before ? true : undefined));
    }
    await eventually('both answer', async () => {
      const lines = (await berth.ok('log-level')).trim().split('\n').slice(1);
      return lines.length === 2 && lines.every((line) => line.endsWith(' info')) ? true : undefined;
    });
    expect(await berth.ok('get', 'pod', 'web', '-o', 'name')).toContain('web');
  });

  it('exit at once on a second signal', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-e2e-twice-'));
    const address = `127.0.0.1:${await freePort()}`;
    const flags = ['--data-dir', folder, '--listen', address, '--backend', 'memory', '--no-scheduler', '--no-controllers'];
    const server = spawn(process.execPath, [launcher, 'server', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = new Promise<number | null>((resolve) => server.on('exit', resolve));
    let log = '';
    server.stderr.on('data', (chunk: Buffer) => (log += chunk.toString('utf8')));
    const says = (text: string) => eventually(text, async () => (log.includes(text) ? true : undefined));
    await says('the API server is listening');
    const read = (name: string): string => readFileSync(join(folder, 'pki', name), 'utf8');
    const client = connect({ address, ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') });
    await client.namespaces.get({ name: 'default' });
    // It keeps the first stop waiting for three seconds.
    const future = { resourceVersion: '999999', resourceVersionMatch: 'NotOlderThan' };
    const running = client.namespaces.list(future).catch((error: unknown) => error);
    await client.namespaces.get({ name: 'default' });
    server.kill('SIGTERM');
    await says('the API server is stopping');
    server.kill('SIGTERM');
    expect(await ended).toBe(1);
    expect(log).toContain('stopping at once: asked a second time');
    expect(await running).toMatchObject({ code: 'UNAVAILABLE' });
    client.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
