import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, eventually, freePort, run } from './installation.ts';
import {
  conditionOf,
  containerOf,
  createPodHouse,
  isReady,
  type PodHouse,
  type PodJson,
  podOf,
  script,
  stay,
} from './pods-fixture.ts';

// What the containers of a pod share, how others reach them, and what is measured of them.
let house: PodHouse;
let web: PodJson;
let port: number;
beforeAll(async () => {
  house = await createPodHouse('network');
  port = await freePort();
  await house.apply(
    podOf('web', [
      script('mkdir -p /tmp/w && echo served > /tmp/w/index.html && exec httpd -f -p 80 -h /tmp/w', {
        name: 'server',
        ports: [{ containerPort: 80, hostPort: port }],
      }),
      script(stay, { name: 'client' }),
    ]),
  );
  web = await house.running('web');
});
afterAll(() => house.berth.purge());

describe('the containers of a pod', () => {
  it('reach each other on localhost', async () => {
    const page = () => house.sh('web', 'wget -q -O - http://localhost/', 'client');
    expect(await eventually('the page is there', page)).toBe('served\n');
  });
  it('share IPC and network, and nothing else', async () => {
    const spaces = (container: string) =>
      house.sh('web', 'for n in net ipc mnt pid; do readlink /proc/self/ns/$n; done', container).then((text) => text.split('\n'));
    const [server, client] = [await spaces('server'), await spaces('client')];
    expect(server.slice(0, 2)).toEqual(client.slice(0, 2));
    expect(server[2]).not.toBe(client[2]);
    expect(server[3]).not.toBe(client[3]);
    await house.sh('web', 'echo shared > /dev/shm/note', 'server');
    expect(await house.sh('web', 'cat /dev/shm/note', 'client')).toBe('shared\n');
  });
});

describe('a pod on the network', () => {
  it('has an address of its own, which others reach', async () => {
    expect(web.status.podIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(await house.sh('web', 'hostname -i', 'client')).toContain(web.status.podIP ?? '?');
    await house.apply(podOf('other', [script(stay)]));
    const other = await house.running('other');
    expect(other.status.podIP).not.toBe(web.status.podIP);
    expect(await house.sh('other', `wget -q -O - http://${web.status.podIP}/`)).toBe('served\n');
  });
  it('is reached through its hostPort', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(await response.text()).toBe('served\n');
  });
  it('that wants a hostPort of another pod stays pending, says why, and runs when that pod has gone', async () => {
    const ports = [{ containerPort: 80, hostPort: await freePort() }];
    await house.apply(podOf('holder', [script(stay, { ports })]));
    await house.running('holder');
    await house.apply(podOf('rival', [script(stay, { ports })]));
    const rival = await house.until('rival', 'is not placed', (pod) => conditionOf(pod, 'PodScheduled')?.status === 'False');
    const message = `0/1 nodes are available: 1 node(s) had host port ${ports[0]?.hostPort}/TCP taken by another pod.`;
    expect(conditionOf(rival, 'PodScheduled')).toMatchObject({ reason: 'Unschedulable', message });
    expect(await house.row('rival')).toEqual({ ready: '0/1', status: 'Pending', restarts: 0 });
    expect(await house.berth.ok('describe', 'pod', 'rival')).toContain(message);
    await house.berth.ok('delete', 'pod', 'holder');
    await house.running('rival');
    await house.berth.ok('delete', 'pod', 'rival');
  });
  it('waits with an event while its hostPort is in use outside of Berth, and runs when it is free', async () => {
    const stranger = createServer().listen(0);
    await once(stranger, 'listening');
    const { port: hostPort } = stranger.address() as AddressInfo;
    await house.apply(podOf('late', [script(stay, { ports: [{ containerPort: 80, hostPort }] })]));
    const failed = await eventually('the event is there', async () =>
      (await house.events('late')).find((each) => each.reason === 'FailedCreatePodSandBox'),
    );
    expect(failed.message).toContain(`host port ${hostPort}/TCP is in use on this machine`);
    expect(await house.row('late')).toEqual({ ready: '0/1', status: 'ContainerCreating', restarts: 0 });
    await new Promise((resolve) => stranger.close(resolve));
    await house.running('late');
  });
  it('gets a new sandbox when its own dies, and all of its containers run again in that one', async () => {
    const list = () => containersOf(house.berth.nodeName);
    const sandbox = (await list()).find((each) => each.pod === 'web' && each.container === 'POD');
    expect(sandbox).toBeDefined();
    await run('docker', ['kill', sandbox?.id ?? '']);
    await house.until('web', 'runs again', (pod) => isReady(pod) && containerOf(pod, 'client').restartCount === 1);
    const sandboxes = (await list()).filter((each) => each.pod === 'web' && each.container === 'POD');
    expect(sandboxes).toHaveLength(1);
    expect(sandboxes[0]?.id).not.toBe(sandbox?.id);
    await eventually('the page is there', () => house.sh('web', 'wget -q -O - http://localhost/', 'client'));
  });
  it("can have the machine's network and address", async () => {
    await house.apply(podOf('on-host', [script(stay)], { hostNetwork: true }));
    const pod = await house.running('on-host');
    expect(pod.status.podIP).toBe(pod.status.hostIP);
    expect(await house.sh('on-host', 'hostname')).toBe(await house.sh('on-host', 'cat /proc/sys/kernel/hostname'));
  });
});

describe('what is measured', () => {
  it('is reported of the node within seconds, of its pods and of their containers', async () => {
    // Its sandbox is new, and nothing but what others send reaches it: there are no broadcasts.
    const { podIP } = (await house.pod('web')).status;
    expect((await run('curl', ['-sf', '--max-time', '10', `http://${podIP}/`])).stdout).toBe('served\n');
    const metrics = await eventually('the pods are measured', async () => {
      const found = JSON.parse(await house.berth.ok('get', 'nodemetrics', house.berth.nodeName, '-o', 'json'));
      const pod = found.pods?.find((each: { name: string }) => each.name === 'web');
      const isMeasured = pod?.containers?.length === 2 && pod.containers[0].usage?.cpu !== undefined;
      return isMeasured && Number(pod.networkReceiveBytes) > 0 ? found : undefined;
    });
    expect(metrics.node).toHaveProperty('load1');
    expect(metrics.usage).toMatchObject({ cpu: expect.any(String), memory: expect.any(String) });
    const pod = metrics.pods.find((each: { name: string }) => each.name === 'web');
    expect(pod).toMatchObject({ namespace: 'default', uid: web.metadata.uid });
    expect(pod.containers.map((each: { name: string }) => each.name).sort()).toEqual(['client', 'server']);
    for (const { usage } of pod.containers) expect(usage).toMatchObject({ cpu: expect.any(String), memory: expect.any(String) });
  });
});
