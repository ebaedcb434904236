import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pod } from '../builders/index.ts';
import {
  image,
  isGone,
  isRunning,
  type Machine,
  podWhere,
  type RunningAgent,
  startAgent,
  startMachine,
  until,
} from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
let serial = 0;
let node = '';

const make = (name: string) =>
  pod(name)
    .uid('')
    .on(node)
    .container('app', { image, command: ['sleep', '1000'] });

async function create(builder: ReturnType<typeof pod>) {
  const object = builder.build();
  delete object.metadata!.uid;
  delete object.metadata!.resourceVersion;
  delete object.status;
  return server.client.pods.create(object);
}

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});
beforeEach(async () => {
  serial++;
  node = `n${serial}`;
  machine = await startMachine();
  agent = startAgent(server, machine, node);
  await until('node', () => server.client.nodes.get({ name: node }).catch(() => undefined));
});
afterEach(async () => {
  await agent.stop();
  await machine.remove();
});

describe('an agent', () => {
  it('registers a node that is ready', async () => {
    const found = await until('ready node', async () => {
      const object = await server.client.nodes.get({ name: node });
      return object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') && object;
    });
    expect(found.metadata?.labels).toMatchObject({ 'kubernetes.io/hostname': node, 'kubernetes.io/arch': 'amd64' });
    expect(found.status?.nodeInfo?.containerRuntimeVersion).toBe('docker://20.10.24');
    expect((await server.client.leases.get({ namespace: 'kube-node-lease', name: node })).spec?.leaseDurationSeconds).toBe(40);
  });

  it('runs a pod with one call for the sandbox and one for each container, and says so in at most two writes', async () => {
    await create(make(`run-${serial}`));
    const running = await podWhere(server.client, `run-${serial}`, isRunning);
    expect(running.status).toMatchObject({ podIP: expect.stringMatching(/^172/), hostIP: '10.0.0.1', qosClass: 'BestEffort' });
    expect(running.status?.containerStatuses?.[0]).toMatchObject({ name: 'app', ready: true, started: true, restartCount: 0 });
    expect(running.status?.containerStatuses?.[0]?.containerID).toMatch(/^docker:\/\//);
    expect(machine.fake.callsOf('runSandbox')).toHaveLength(1);
    expect(machine.fake.callsOf('runContainer')).toHaveLength(1);
    expect(agent.patches.get(`run-${serial}`)).toBeLessThanOrEqual(2);
  });

  it('restarts a container at once the first time, then waits in CrashLoopBackOff', async () => {
    machine.fake.behave('app', { exitsWith: 1 });
    await create(make(`crash-${serial}`));
    const waiting = await podWhere(
      server.client,
      `crash-${serial}`,
      (object) => object.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(waiting.status?.phase).toBe('Running');
    expect(waiting.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 1, reason: 'Error' } },
    });
    expect(machine.fake.callsOf('runContainer')).toHaveLength(2);
  });

  it('ends a pod that is never restarted and keeps its container for the log', async () => {
    machine.fake.behave('app', { exitsWith: 0 });
    await create(make(`done-${serial}`).restartPolicy('Never'));
    const done = await podWhere(server.client, `done-${serial}`, (object) => object.status?.phase === 'Succeeded');
    expect(done.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    await until('sandbox stopped', () => machine.fake.container(`done-${serial}`, 'POD').state === 'exited');
    expect(machine.fake.container(`done-${serial}`, 'app').state).toBe('exited');
  });

  it('deletes a pod gracefully and leaves nothing behind', async () => {
    await create(make(`gone-${serial}`));
    await podWhere(server.client, `gone-${serial}`, isRunning);
    await server.client.pods.delete({ namespace: 'default', name: `gone-${serial}` }, { gracePeriodSeconds: 5 });
    await until('gone', () => isGone(server.client, `gone-${serial}`));
    expect(machine.fake.containers()).toEqual([]);
    expect(machine.fake.callsOf('stop').map((call) => call.target)).toEqual([`gone-${serial}/app`]);
  });

  it('stops the containers of a pod that was deleted by force', async () => {
    await create(make(`force-${serial}`));
    await podWhere(server.client, `force-${serial}`, isRunning);
    await server.client.pods.delete({ namespace: 'default', name: `force-${serial}` }, { gracePeriodSeconds: 0 });
    await until('swept', () => machine.fake.containers().length === 0);
  });

  it('goes on with all other pods while the engine hangs on one container', async () => {
    const [stuck, other, later] = [`stuck-${serial}`, `other-${serial}`, `later-${serial}`];
    for (const name of [stuck, other]) await create(make(name));
    for (const name of [stuck, other]) await podWhere(server.client, name, isRunning);
    const release = machine.fake.hold('stop', `${stuck}/app`);
    for (const name of [stuck, other]) await server.client.pods.delete({ namespace: 'default', name }, { gracePeriodSeconds: 1 });
    await until('the other is gone', () => isGone(server.client, other));
    await create(make(later));
    await podWhere(server.client, later, isRunning);
    machine.fake.exit(machine.fake.container(later, 'app').id, 1);
    await podWhere(server.client, later, (object) => object.status?.containerStatuses?.[0]?.restartCount === 1);
    expect(machine.fake.container(stuck, 'app').state).toBe('running');
    expect(await isGone(server.client, stuck)).toBe(false);
    release();
    await until('the stuck one is gone', () => isGone(server.client, stuck));
    expect(machine.fake.containers().map((each) => each.podName)).not.toContain(stuck);
  });

  it('takes over what runs when it starts again, and restarts nothing', async () => {
    await create(make(`keep-${serial}`));
    const before = await podWhere(server.client, `keep-${serial}`, isRunning);
    await agent.stop();
    machine.fake.calls.length = 0;
    agent = startAgent(server, machine, node);
    await until('listed', () => machine.fake.callsOf('list').length > 0);
    await create(make(`next-${serial}`));
    await podWhere(server.client, `next-${serial}`, isRunning);
    expect(machine.fake.calls.filter((call) => call.target.startsWith(`keep-${serial}/`))).toEqual([]);
    const after = await server.client.pods.get({ namespace: 'default', name: `keep-${serial}` });
    expect(after.metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
  });

  it('sweeps what was deleted by force while it was away', async () => {
    await create(make(`orphan-${serial}`));
    await podWhere(server.client, `orphan-${serial}`, isRunning);
    await agent.stop();
    await server.client.pods.delete({ namespace: 'default', name: `orphan-${serial}` }, { gracePeriodSeconds: 0 });
    agent = startAgent(server, machine, node);
    await until('swept', () => machine.fake.containers().length === 0);
    expect(machine.fake.callsOf('stop').map((call) => call.target)).toContain(`orphan-${serial}/app`);
  });

  it("says in the registry's words why an image cannot be pulled", async () => {
    const { RuntimeError } = await import('../../agent/runtime/runtime-error.ts');
    machine.fake.failNext('pull', new RuntimeError('image-not-found', 'pull nope:1: manifest unknown'));
    await create(pod(`image-${serial}`).on(node).container('app', { image: 'nope:1' }));
    const failed = await podWhere(
      server.client,
      `image-${serial}`,
      (object) => object.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImagePull',
    );
    expect(failed.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain('manifest unknown');
    await podWhere(
      server.client,
      `image-${serial}`,
      (object) => object.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff',
    );
  });

  it('waits for a ConfigMap that does not exist yet', async () => {
    const env = [{ name: 'A', valueFrom: { configMapKeyRef: { localObjectReference: { name: `cm-${serial}` }, key: 'a' } } }];
    await create(pod(`config-${serial}`).on(node).container('app', { image, env }));
    await podWhere(
      server.client,
      `config-${serial}`,
      (object) => object.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    await server.client.configMaps.create({ metadata: { namespace: 'default', name: `cm-${serial}` }, data: { a: 'yes' } });
    await podWhere(server.client, `config-${serial}`, isRunning);
    expect(machine.fake.container(`config-${serial}`, 'app').config).toMatchObject({ env: [{ name: 'A', value: 'yes' }] });
  });

  it('refuses a pod whose host port is taken', async () => {
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    await create(pod(`port-a-${serial}`).on(node).container('app', { image, ports }));
    await podWhere(server.client, `port-a-${serial}`, isRunning);
    await create(pod(`port-b-${serial}`).on(node).container('app', { image, ports }));
    const refused = await podWhere(server.client, `port-b-${serial}`, (object) => object.status?.phase === 'Failed');
    expect(refused.status?.reason).toBe('NodePorts');
  });

  it('refuses to run beside another live agent of the same name', async () => {
    const other = await startMachine();
    const second = startAgent(server, other, node);
    const renewing = setInterval(async () => {
      const lease = await server.client.leases.get({ namespace: 'kube-node-lease', name: node });
      await server.client.leases.patch(
        { namespace: 'kube-node-lease', name: node },
        { spec: { leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 } },
      );
    }, 300);
    await expect(second.ended)
      .rejects.toThrow('is run by another live agent')
      .finally(() => clearInterval(renewing));
    await other.remove();
  });

  it('serves logs and commands through the tunnel', async () => {
    await create(make(`tunnel-${serial}`));
    await podWhere(server.client, `tunnel-${serial}`, isRunning);
    machine.fake.writeLog(machine.fake.container(`tunnel-${serial}`, 'app').id, 'hello');
    const key = { namespace: 'default', name: `tunnel-${serial}` };
    const text: string[] = [];
    for await (const data of server.client.pods.logs(key, {})) text.push(data.toString());
    expect(text.join('')).toBe('hello\n');
    machine.fake.onExec(() => ({ stdout: 'out', exitCode: 3 }));
    const exec = server.client.pods.exec(key, { command: ['true'], stdout: true });
    const output: string[] = [];
    for await (const { data } of exec.output()) output.push(data.toString());
    expect(output).toEqual(['out']);
    expect(await exec.exitCode()).toBe(3);
  });
});

describe('an agent whose server is away', () => {
  it('leaves containers alone, goes on restarting them, and tells the server when it is back', async () => {
    const own = await startServer({ backend: 'lmdb' });
    const home = await startMachine();
    const name = 'away';
    const keeper = startAgent(own, home, 'away-node');
    await until('node', () => own.client.nodes.get({ name: 'away-node' }).catch(() => undefined));
    const { metadata, spec } = pod(name).on('away-node').container('app', { image }).build();
    await own.client.pods.create({ metadata: { namespace: 'default', name: metadata?.name ?? '' }, ...(spec && { spec }) });
    await podWhere(own.client, name, isRunning);
    await own.stop();
    home.fake.exit(home.fake.container(name, 'app').id, 1);
    await until('restarted', () => home.fake.container(name, 'app').attempt === 1);
    expect(home.fake.container(name, 'POD').state).toBe('running');
    const back = await startServer({ backend: 'lmdb', dataDir: own.dataDir, listen: own.info.address });
    await podWhere(back.client, name, (object) => object.status?.containerStatuses?.[0]?.restartCount === 1 && isRunning(object));
    await keeper.stop();
    await back.stop();
    await back.remove();
    await home.remove();
  });
});
