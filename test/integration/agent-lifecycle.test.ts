import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { pod } from '../builders/index.ts';
import { image, isGone, isRunning, podWhere, startAgent, startMachine, until } from './agent-harness.ts';
import { houseAgent } from './agent-house.ts';
import { startServer } from './apiserver-harness.ts';

const house = houseAgent('n');

const make = (name: string) =>
  pod(name)
    .uid('')
    .on(house.node)
    .container('app', { image, command: ['sleep', '1000'] });

describe('an agent', () => {
  it('registers a node that is ready', async () => {
    const found = await until('ready node', async () => {
      const object = await house.server.client.nodes.get({ name: house.node });
      return isConditionTrue(object.status?.conditions, 'Ready') && object;
    });
    expect(found.metadata?.labels).toMatchObject({ 'kubernetes.io/hostname': house.node, 'kubernetes.io/arch': 'amd64' });
    expect(found.status?.nodeInfo?.containerRuntimeVersion).toBe('docker://20.10.24');
    expect(
      (await house.server.client.leases.get({ namespace: 'kube-node-lease', name: house.node })).spec?.leaseDurationSeconds,
    ).toBe(40);
  });

  it('runs a pod with one call for the sandbox and one for each container, and says so in at most two writes', async () => {
    await house.create(make(`run-${house.serial}`));
    const running = await podWhere(house.server.client, `run-${house.serial}`, isRunning);
    expect(running.status).toMatchObject({ podIP: expect.stringMatching(/^172/), hostIP: '10.0.0.1', qosClass: 'BestEffort' });
    expect(running.status?.containerStatuses?.[0]).toMatchObject({ name: 'app', ready: true, started: true, restartCount: 0 });
    expect(running.status?.containerStatuses?.[0]?.containerID).toMatch(/^docker:\/\//);
    expect(house.machine.fake.callsOf('runSandbox')).toHaveLength(1);
    expect(house.machine.fake.callsOf('runContainer')).toHaveLength(1);
    expect(house.agent.patches.get(`run-${house.serial}`)).toBeLessThanOrEqual(2);
  });

  it('restarts a container at once the first time, then waits in CrashLoopBackOff', async () => {
    house.machine.fake.behave('app', { exitsWith: 1 });
    await house.create(make(`crash-${house.serial}`));
    const waiting = await podWhere(
      house.server.client,
      `crash-${house.serial}`,
      (object) => object.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(waiting.status?.phase).toBe('Running');
    expect(waiting.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 1, reason: 'Error' } },
    });
    expect(house.machine.fake.callsOf('runContainer')).toHaveLength(2);
  });

  it('ends a pod that is never restarted and keeps its container for the log', async () => {
    house.machine.fake.behave('app', { exitsWith: 0 });
    await house.create(make(`done-${house.serial}`).restartPolicy('Never'));
    const done = await podWhere(house.server.client, `done-${house.serial}`, (object) => object.status?.phase === 'Succeeded');
    expect(done.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    await until('sandbox stopped', () => house.machine.fake.container(`done-${house.serial}`, 'POD').state === 'exited');
    expect(house.machine.fake.container(`done-${house.serial}`, 'app').state).toBe('exited');
  });

  it('deletes a pod gracefully and leaves nothing behind', async () => {
    await house.create(make(`gone-${house.serial}`));
    await podWhere(house.server.client, `gone-${house.serial}`, isRunning);
    await house.server.client.pods.delete({ namespace: 'default', name: `gone-${house.serial}` }, { gracePeriodSeconds: 5 });
    await until('gone', () => isGone(house.server.client, `gone-${house.serial}`));
    expect(house.machine.fake.containers()).toEqual([]);
    expect(house.machine.fake.callsOf('stop').map((call) => call.target)).toEqual([`gone-${house.serial}/app`]);
  });

  it('stops the containers of a pod that was deleted by force', async () => {
    await house.create(make(`force-${house.serial}`));
    await podWhere(house.server.client, `force-${house.serial}`, isRunning);
    await house.server.client.pods.delete({ namespace: 'default', name: `force-${house.serial}` }, { gracePeriodSeconds: 0 });
    await until('swept', () => house.machine.fake.containers().length === 0);
  });

  it('goes on with all other pods while the engine hangs on one container', async () => {
    const [stuck, other, later] = [`stuck-${house.serial}`, `other-${house.serial}`, `later-${house.serial}`];
    for (const name of [stuck, other]) await house.create(make(name));
    for (const name of [stuck, other]) await podWhere(house.server.client, name, isRunning);
    const release = house.machine.fake.hold('stop', `${stuck}/app`);
    for (const name of [stuck, other])
      await house.server.client.pods.delete({ namespace: 'default', name }, { gracePeriodSeconds: 1 });
    await until('the other is gone', () => isGone(house.server.client, other));
    await house.create(make(later));
    await podWhere(house.server.client, later, isRunning);
    house.machine.fake.exit(house.machine.fake.container(later, 'app').id, 1);
    await podWhere(house.server.client, later, (object) => object.status?.containerStatuses?.[0]?.restartCount === 1);
    expect(house.machine.fake.container(stuck, 'app').state).toBe('running');
    expect(await isGone(house.server.client, stuck)).toBe(false);
    release();
    await until('the stuck one is gone', () => isGone(house.server.client, stuck));
    expect(house.machine.fake.containers().map((each) => each.podName)).not.toContain(stuck);
  });

  it('takes over what runs when it starts again, and restarts nothing', async () => {
    await house.create(make(`keep-${house.serial}`));
    const before = await podWhere(house.server.client, `keep-${house.serial}`, isRunning);
    await house.agent.stop();
    house.machine.fake.calls.length = 0;
    house.startAgent();
    await until('listed', () => house.machine.fake.callsOf('list').length > 0);
    await house.create(make(`next-${house.serial}`));
    await podWhere(house.server.client, `next-${house.serial}`, isRunning);
    expect(house.machine.fake.calls.filter((call) => call.target.startsWith(`keep-${house.serial}/`))).toEqual([]);
    const after = await house.server.client.pods.get({ namespace: 'default', name: `keep-${house.serial}` });
    expect(after.metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
  });

  it('sweeps what was deleted by force while it was away', async () => {
    await house.create(make(`orphan-${house.serial}`));
    await podWhere(house.server.client, `orphan-${house.serial}`, isRunning);
    await house.agent.stop();
    await house.server.client.pods.delete({ namespace: 'default', name: `orphan-${house.serial}` }, { gracePeriodSeconds: 0 });
    house.startAgent();
    await until('swept', () => house.machine.fake.containers().length === 0);
    expect(house.machine.fake.callsOf('stop').map((call) => call.target)).toContain(`orphan-${house.serial}/app`);
  });

  it("says in the registry's words why an image cannot be pulled", async () => {
    const { RuntimeError } = await import('../../agent/runtime/runtime-error.ts');
    const missing = new RuntimeError('image-not-found', 'pull nope:1: manifest unknown');
    // Again and again, so that nothing succeeds before a busy machine has shown the wait in between.
    for (let attempt = 0; attempt < 5; attempt++) house.machine.fake.failNext('pull', missing);
    await house.create(pod(`image-${house.serial}`).on(house.node).container('app', { image: 'nope:1' }));
    // ErrImagePull may have passed before the test looks.
    const failed = await podWhere(
      house.server.client,
      `image-${house.serial}`,
      (object) => object.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff',
    );
    expect(failed.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe(
      'Back-off pulling image "nope:1": ErrImagePull: pull nope:1: manifest unknown',
    );
  });

  it('waits for a ConfigMap that does not exist yet', async () => {
    const env = [
      { name: 'A', valueFrom: { configMapKeyRef: { localObjectReference: { name: `cm-${house.serial}` }, key: 'a' } } },
    ];
    await house.create(pod(`config-${house.serial}`).on(house.node).container('app', { image, env }));
    await podWhere(
      house.server.client,
      `config-${house.serial}`,
      (object) => object.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    await house.server.client.configMaps.create({
      metadata: { namespace: 'default', name: `cm-${house.serial}` },
      data: { a: 'yes' },
    });
    await podWhere(house.server.client, `config-${house.serial}`, isRunning);
    expect(house.machine.fake.container(`config-${house.serial}`, 'app').config).toMatchObject({
      env: [{ name: 'A', value: 'yes' }],
    });
  });

  it('refuses a pod whose host port is taken', async () => {
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    await house.create(pod(`port-a-${house.serial}`).on(house.node).container('app', { image, ports }));
    await podWhere(house.server.client, `port-a-${house.serial}`, isRunning);
    await house.create(pod(`port-b-${house.serial}`).on(house.node).container('app', { image, ports }));
    const refused = await podWhere(house.server.client, `port-b-${house.serial}`, (object) => object.status?.phase === 'Failed');
    expect(refused.status?.reason).toBe('NodePorts');
  });

  it('refuses to run beside another live agent of the same name', async () => {
    const other = await startMachine();
    const second = startAgent(house.server, other, house.node);
    const renewing = setInterval(async () => {
      const lease = await house.server.client.leases.get({ namespace: 'kube-node-lease', name: house.node });
      await house.server.client.leases.patch(
        { namespace: 'kube-node-lease', name: house.node },
        { spec: { leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 } },
      );
    }, 300);
    await expect(second.ended)
      .rejects.toThrow('is run by another live agent')
      .finally(() => clearInterval(renewing));
    await other.remove();
  });

  it('serves logs and commands through the tunnel', async () => {
    await house.create(make(`tunnel-${house.serial}`));
    await podWhere(house.server.client, `tunnel-${house.serial}`, isRunning);
    house.machine.fake.writeLog(house.machine.fake.container(`tunnel-${house.serial}`, 'app').id, 'hello');
    const key = { namespace: 'default', name: `tunnel-${house.serial}` };
    const text: string[] = [];
    for await (const data of house.server.client.pods.logs(key, {})) text.push(data.toString());
    expect(text.join('')).toBe('hello\n');
    house.machine.fake.onExec(() => ({ stdout: 'out', exitCode: 3 }));
    const exec = house.server.client.pods.exec(key, { command: ['true'], stdout: true });
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
