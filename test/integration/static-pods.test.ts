import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { image, isGone, isRunning, type Machine, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

const node = 'static-node';
const name = `web-${node}`;

function manifest(more: object = {}, metadata: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { app: 'web' }, ...metadata },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'app', image, command: ['sleep', '1000'] }], ...more },
  });
}

// One story: what happens to a machine with static pods.
describe('static pods', () => {
  let server: RunningServer;
  let machine: Machine;
  let agent: RunningAgent;
  let folder: string;
  const start = () => {
    agent = startAgent(server, machine, node, { staticPodPath: folder });
  };
  const put = async (file: string, text: string) => {
    await writeFile(join(folder, `.${file}`), text);
    await rename(join(folder, `.${file}`), join(folder, file));
  };
  /** The mirror, once it is as wanted; it comes and goes meanwhile. */
  const mirrorWhere = (mirror: string, test: (pod: Pod) => boolean) =>
    until(`mirror ${mirror}`, async () => {
      const found = await server.client.pods.get({ namespace: 'default', name: mirror }).catch(() => undefined);
      return found && test(found) && found;
    });
  const uidOf = (pod: Pod) => pod.metadata?.uid;
  const hashOf = (pod: Pod) => pod.metadata?.annotations?.['kubernetes.io/config.mirror'];
  const containers = () =>
    machine.fake
      .containers()
      .map(({ id }) => id)
      .toSorted();
  const app = () => machine.fake.container(name, 'app');

  beforeAll(async () => {
    server = await startServer({ backend: 'lmdb' });
    machine = await startMachine();
    folder = join(machine.dataDir, 'static');
    await mkdir(folder);
  });
  afterAll(async () => {
    await agent.stop();
    await server.stop();
    await server.remove();
    await machine.remove();
  });

  it('run without an API server, and get mirror pods once it is reachable', async () => {
    await server.stop();
    await put('web.json', manifest());
    start();
    await until('the container', () =>
      machine.fake.containers().some(({ containerName, state }) => containerName === 'app' && state === 'running'),
    );
    const before = containers();
    server = await startServer({ backend: 'lmdb', dataDir: server.dataDir, listen: server.info.address });
    const mirror = await mirrorWhere(name, isRunning);
    const { uid } = await server.client.nodes.get({ name: node }).then(({ metadata }) => ({ uid: metadata?.uid }));
    expect(mirror.metadata).toMatchObject({
      labels: { app: 'web' },
      annotations: {
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.hash': hashOf(mirror),
        'kubernetes.io/config.mirror': app().podUid,
        'kubernetes.io/config.seen': expect.stringMatching(/^20\d\d-/),
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid, controller: true }],
    });
    expect(mirror.spec).toMatchObject({ nodeName: node });
    expect(mirror.spec?.tolerations).toEqual([{ operator: 'Exists', effect: 'NoExecute' }]);
    expect(containers()).toEqual(before);
  });

  it('are adopted by a restarted agent with their status', async () => {
    const [before, said] = [containers(), await mirrorWhere(name, isRunning)];
    await agent.stop();
    start();
    await put('other.json', manifest({}, { name: 'other' }));
    await mirrorWhere(`other-${node}`, isRunning);
    expect(containers()).toEqual(expect.arrayContaining(before));
    const now = await mirrorWhere(name, isRunning);
    expect([uidOf(now), now.status?.startTime]).toEqual([uidOf(said), said.status?.startTime]);
  });

  it('keep running when a mirror pod is deleted, which the agent recreates', async () => {
    const before = await mirrorWhere(name, isRunning);
    const id = app().id;
    await server.client.pods.delete({ namespace: 'default', name });
    const next = await mirrorWhere(name, (pod) => uidOf(pod) !== uidOf(before) && isRunning(pod));
    expect([hashOf(next), app().id, app().state]).toEqual([hashOf(before), id, 'running']);
  });

  it('can be looked into through their mirrors', async () => {
    for await (const data of server.client.pods.logs({ namespace: 'default', name }, {})) expect(data).toBeDefined();
    expect(machine.fake.callsOf('logs').map(({ target }) => target)).toEqual([`${name}/app`]);
  });

  it('cannot be changed through their mirror pods', async () => {
    await expect(
      server.client.pods.patch({ namespace: 'default', name }, { spec: { activeDeadlineSeconds: 5 } }),
    ).rejects.toThrow(`a mirror pod shows what a file on node "${node}" says: change that file`);
  });

  it('are replaced when their file changes, after the previous pod has terminated', async () => {
    const [before, id] = [await mirrorWhere(name, isRunning), app().id];
    await put('web.json', manifest({ hostname: 'changed' }));
    const next = await mirrorWhere(name, (pod) => hashOf(pod) !== hashOf(before) && isRunning(pod));
    expect(next.spec?.hostname).toBe('changed');
    expect(app().podUid).toBe(hashOf(next));
    const order = machine.fake.calls.filter(
      ({ method, target }) => ['remove', 'runSandbox'].includes(method) && target.startsWith(name),
    );
    expect(order.at(-1)?.method).toBe('runSandbox');
    expect(machine.fake.containers().map((each) => each.id)).not.toContain(id);
  });

  it('keep running while their file is invalid, with an event on the node', async () => {
    const id = app().id;
    await put('web.json', '{"kind": "Pod", "apiVersion": "v1",\n "metadata": {"name": "web"}, "spec": {"containrs": []}}');
    const event = await until('the event', async () => {
      const { items } = await server.client.events.list();
      return items.find(({ reason }) => reason === 'InvalidStaticPod');
    });
    expect(event.message).toContain(`pod "default/${name}" goes on as it was until it is mended or removed`);
    expect(event.message).toContain('web.json:2: spec.containrs');
    expect([app().id, app().state]).toEqual([id, 'running']);
    await put('web.json', manifest({ hostname: 'changed' }));
  });

  it('terminate with their mirror pods when their file is removed', async () => {
    await rm(join(folder, 'web.json'));
    await until('the mirror is gone', () => isGone(server.client, name));
    expect(machine.fake.containers().filter(({ podName }) => podName === name)).toEqual([]);
    await mirrorWhere(`other-${node}`, isRunning);
  });

  it('terminate without an API server when their file was removed while the agent was down', async () => {
    await agent.stop();
    await server.stop();
    await rm(join(folder, 'other.json'));
    start();
    await until('no container', () => machine.fake.containers().length === 0);
    server = await startServer({ backend: 'lmdb', dataDir: server.dataDir, listen: server.info.address });
    await until('the mirror is gone', () => isGone(server.client, `other-${node}`));
  });
});
