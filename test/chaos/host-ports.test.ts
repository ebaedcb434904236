import { afterAll, beforeAll, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { Pod } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { image, namespace } from './pod-churn.ts';

// Pods with ports of the machine in the routed network, seen from the machine, from another host and from pods.
const first = '10.117.8.1';
type Port = NonNullable<NonNullable<NonNullable<Pod['spec']>['containers']>[number]['ports']>[number];

const podOf = (name: string, nodeName: string, ports: readonly Port[], script = server): Pod => ({
  metadata: { namespace, name },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', script], ports: [...ports] }],
  },
});
/** Answers with its name, and tells clients their address. */
const tells = "printf '#!/bin/sh\\necho\\necho $REMOTE_ADDR\\n' >/cgi-bin/client; chmod +x /cgi-bin/client";
const server = `hostname >/index.html; mkdir /cgi-bin; ${tells}; exec httpd -f -p 80 -h /`;
/** A program of the machine that listens on a port; tells the error otherwise. */
const listenOn = (port: number): string =>
  `node -e "require('net').createServer().listen(${port}, '0.0.0.0').on('error', (error) => { console.log(error.code); process.exit(1); })"`;

let cluster: Cluster;
const ask = async (host: string, url: string): Promise<string> =>
  (await cluster.exec(host, 'curl', '-s', '--max-time', '3', `http://${url}/index.html`)).stdout.trim();

async function ready(...names: readonly string[]): Promise<void> {
  await eventually(`${names.join()} are ready`, async () => {
    const pods = await Promise.all(names.map((name) => cluster.client.pods.get({ namespace, name })));
    return pods.every(isPodReady) ? true : undefined;
  });
}

beforeAll(async () => {
  cluster = await createCluster(2);
  const pods = [
    podOf('all', 'h1', [{ containerPort: 80, hostPort: 8080 }]),
    podOf('own', 'h1', [{ containerPort: 80, hostPort: 8081, hostIP: '127.0.0.1' }]),
    podOf('one', 'h1', [{ containerPort: 80, hostPort: 8082, hostIP: first }]),
    podOf('asks', 'h2', [], 'exec sleep 3600'),
    podOf('near', 'h1', [], 'exec sleep 3600'),
  ];
  for (const pod of pods) await cluster.client.pods.create(pod);
  await ready('all', 'own', 'one', 'asks', 'near');
});
afterAll(() => cluster?.close());

async function allAnswer(): Promise<void> {
  // The machine itself, another one, and pods of both.
  for (const address of ['127.0.0.1', first]) expect(await ask('h1', `${address}:8080`), address).toBe('all');
  expect(await ask('h2', `${first}:8080`)).toBe('all');
  for (const from of ['asks', 'near']) {
    const words = ['exec', from, '--', 'timeout', '5', 'wget', '-qO-', `http://${first}:8080/index.html`];
    expect((await cluster.berth('h1', ...words)).stdout.trim(), from).toBe('all');
  }
  expect(await ask('h1', '127.0.0.1:8081')).toBe('own');
  expect(await ask('h1', `${first}:8082`)).toBe('one');
  expect(await ask('h2', `${first}:8082`)).toBe('one');
}

it('answers at all addresses of the machine, at its loopback address alone, or at one address', async () => {
  await allAnswer();
  expect(await ask('h1', `${first}:8081`)).toBe('');
  expect(await ask('h2', `${first}:8081`)).toBe('');
  expect(await ask('h1', '127.0.0.1:8082')).toBe('');
  // In the routed network: the engine publishes nothing.
  expect((await cluster.exec('h1', 'sh', '-c', 'pgrep -a docker-proxy || echo none')).stdout).toBe('none\n');
  const [pod] = (await cluster.client.pods.list({ namespace, fieldSelector: 'metadata.name=all' })).items;
  expect(pod?.status?.podIP).toMatch(/^10\.42\./);
});

it('sees the address of a client that comes from another host', async () => {
  const { stdout } = await cluster.exec('h2', 'curl', '-s', '--max-time', '3', `http://${first}:8080/cgi-bin/client`);
  expect(stdout.trim()).toContain('10.117.8.2');
});

it('drops what arrives for the loopback address, also where links let it in', async () => {
  const loopback =
    'ip route add 127.0.0.9/32 via 10.117.8.1 2>&1; curl -s --max-time 2 --interface 10.117.8.2 http://127.0.0.9:8080/; ip route del 127.0.0.9/32; true';
  expect((await cluster.exec('h2', 'sh', '-c', loopback)).stdout).not.toContain('all');
  const link = await cluster.exec('h1', 'sh', '-c', 'grep -l 1 /proc/sys/net/ipv4/conf/bth*/route_localnet | wc -l');
  expect(link.stdout.trim(), 'links of pods that are on loopback').toBe('2');
  // In the table of services, and in that of policies.
  expect((await cluster.exec('h1', 'sh', '-c', 'nft list ruleset | grep -c "ip daddr 127.0.0.0/8 drop"')).stdout.trim()).toBe(
    '2',
  );
});

it('keeps other programs from the port, and says of a pod that finds it taken which port it is', async () => {
  const clash = await cluster.exec('h1', 'sh', '-c', `timeout 2 ${listenOn(8080)}`);
  expect(clash.stdout).toContain('EADDRINUSE');
  const holding = cluster.exec('h1', 'sh', '-c', `${listenOn(8090)} & echo $! >/run/berth-test-8090; wait`);
  const listening = async () => (await cluster.exec('h1', 'ss', '-ltn')).stdout.includes(':8090') || undefined;
  await eventually('a program has the port', listening);
  await cluster.client.pods.create(podOf('late', 'h1', [{ containerPort: 80, hostPort: 8090 }]));
  await eventually('an event names the port', async () => {
    const { items } = await cluster.client.events.list({ namespace, fieldSelector: 'involvedObject.name=late' });
    return items.some(({ message }) => message?.includes('host port 8090/TCP is in use on this machine')) ? true : undefined;
  });
  await cluster.exec('h1', 'sh', '-c', 'kill $(cat /run/berth-test-8090); rm /run/berth-test-8090');
  await holding;
  await ready('late');
  expect(await ask('h2', `${first}:8090`)).toBe('late');
});

it('goes on while the agent is away, and is taken again by the next one', async () => {
  await cluster.berth('h2', 'down');
  await cluster.client.pods.create({ ...podOf('second', 'h2', [{ containerPort: 80, hostPort: 8084 }]) });
  await cluster.berth('h2', 'join', '--detach');
  await ready('second');
  await cluster.berth('h2', 'down');
  expect(await ask('h1', '10.117.8.2:8084')).toBe('second');
  await cluster.berth('h2', 'join', '--detach');
  await eventually('the port is held again', async () =>
    (await cluster.exec('h2', 'ss', '-ltn')).stdout.includes('0.0.0.0:8084') ? true : undefined,
  );
  expect(await ask('h1', '10.117.8.2:8084')).toBe('second');
});

it('is free again when the pod is gone', async () => {
  await cluster.client.pods.delete({ namespace, name: 'all' });
  await eventually('the port is free', async () => {
    const { stdout } = await cluster.exec('h1', 'ss', '-ltn');
    return stdout.includes(':8080') ? undefined : true;
  });
  expect(await ask('h1', `${first}:8080`)).toBe('');
  await cluster.client.pods.create(podOf('next', 'h1', [{ containerPort: 80, hostPort: 8080 }]));
  await ready('next');
  expect(await ask('h2', `${first}:8080`)).toBe('next');
});
