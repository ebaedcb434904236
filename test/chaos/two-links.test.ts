import { afterAll, beforeAll, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { Pod } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { type Cluster, createClusterWith } from './cluster.ts';
import { image, namespace } from './pod-churn.ts';

// Three hosts: h1 and h3 on one link, h2 on another, with a router between. The agents choose the way for each pair;
// what goes through VXLAN arrives whole, also where the router has room for less, and net check tells what is wrong.
let cluster: Cluster;
const digests = new Map<string, string>();
const nodes = ['h1', 'h2', 'h3'] as const;

const must = async (host: string, script: string): Promise<string> => {
  const { code, stdout, stderr } = await cluster.exec(host, 'sh', '-ec', script);
  if (code !== 0) throw new Error(`${script} on ${host} ended with ${code}: ${stderr}`);
  return stdout.trim();
};

const inPod = async (pod: string, script: string): Promise<string> => {
  const { stdout, stderr } = await cluster.berth('h1', 'exec', pod, '--', 'sh', '-c', script);
  return stdout.trim() || stderr;
};

/** Serves a megabyte of noise, and its own name. */
const podOn = (nodeName: string, name = `on-${nodeName}`): Pod => ({
  metadata: { namespace, name, labels: { app: name } },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: [
          'sh',
          '-c',
          'mkdir /w; head -c 1000000 /dev/urandom >/w/noise; hostname >/w/index.html; exec httpd -f -p 80 -h /w',
        ],
        readinessProbe: { handler: { httpGet: { path: '/noise', port: { type: 0, intVal: 80 } } }, periodSeconds: 1 },
      },
    ],
  },
});

async function start(pod: Pod): Promise<string> {
  const name = pod.metadata?.name ?? '';
  await cluster.client.pods.create(pod);
  const ready = await eventually(`pod ${name} is ready`, async () => {
    const found = await cluster.client.pods.get({ namespace, name });
    return isPodReady(found) ? found : undefined;
  });
  digests.set(name, await inPod(name, 'sha256sum </w/noise'));
  return ready.status?.podIP ?? '';
}

const addresses = new Map<string, string>();
const fetchBy = (from: string, to: string): Promise<string> =>
  inPod(from, `wget -qO- http://${addresses.get(to)}/noise | sha256sum`);

/** Of all hosts and pods: what was dropped for its checksum. */
async function checksumErrors(): Promise<number> {
  const script = `cat /proc/net/snmp; for pid in $(docker ps -q | xargs docker inspect --format '{{.State.Pid}}'); do cat /proc/$pid/net/snmp; done`;
  let sum = 0;
  for (const host of nodes) {
    const lines = (await must(host, script)).split('\n').map((line) => line.split(' '));
    for (let n = 0; n + 1 < lines.length; n += 2) {
      const at = lines[n]?.indexOf('InCsumErrors') ?? -1;
      if (at > 0) sum += Number(lines[n + 1]?.[at]);
    }
  }
  return sum;
}

async function arrivesWhole(): Promise<void> {
  const pairs = ['on-h1 on-h2', 'on-h2 on-h1', 'on-h2 on-h3'].map((pair) => pair.split(' ') as [string, string]);
  for (const [from, to] of pairs) expect(await fetchBy(from, to), `${from} fetches of ${to}`).toBe(digests.get(to));
}

const check = () => cluster.berth('h1', 'net', 'check');
const isGreen = (patienceMs = 60_000): Promise<string> =>
  eventually(
    'all is well',
    async () => {
      const { code, stdout, stderr } = await check();
      if (code !== 0) throw new Error(`it ended with ${code}: ${stdout}${stderr}`);
      return stdout;
    },
    patienceMs,
  );

beforeAll(async () => {
  cluster = await createClusterWith({ count: 3, links: 2 });
  for (const host of nodes) addresses.set(`on-${host}`, await start(podOn(host)));
});
afterAll(async () => {
  await cluster?.close();
});

it('the way is direct on one link, and a tunnel over the router', async () => {
  const table = await isGreen();
  expect(table).toMatch(/^h1 +routed .* 1450 +1 direct, 1 tunnel /m);
  expect(table).toMatch(/^h2 +routed .* 1450 +2 tunnel /m);
  expect(table).toMatch(/^h3 +routed .* 1450 +1 direct, 1 tunnel /m);
});

it('a megabyte goes through the tunnel both ways, with no wrong checksum; Services and names lead over it', async () => {
  const before = await checksumErrors();
  await arrivesWhole();
  const ports = [{ port: 80, targetPort: { type: 0, intVal: 80 } }];
  await cluster.client.services.create({ metadata: { namespace, name: 'far' }, spec: { selector: { app: 'on-h2' }, ports } });
  const { spec } = await cluster.client.services.get({ namespace, name: 'far' });
  const wanted = [spec?.clusterIP, 'far', `far.${namespace}.svc.cluster.local`];
  const script = wanted.map((to) => `timeout 3 wget -qO- http://${to}/`).join(';');
  for (const from of ['on-h1', 'on-h2', 'on-h3'])
    await eventually(`${from} reaches the Service`, async () =>
      (await inPod(from, script)) === 'on-h2\non-h2\non-h2' ? true : undefined,
    );
  expect(await checksumErrors()).toBe(before);
});

it('a smaller MTU of the router is told with its number, and new pods are held to it, until it is raised', async () => {
  await cluster.router('ip link set link2 mtu 1400');
  await eventually('it is told', async () => {
    const { code, stdout } = await check();
    const told = /h1: the network between this node and node h2 has an MTU of 1400: pods' packets may have 1350 bytes, not 1450/;
    return code === 1 && told.test(stdout) && /^h1 +routed .* 1350 failed /m.test(stdout) ? true : undefined;
  });
  addresses.set('late', await start(podOn('h1', 'late')));
  const pid = "$(docker inspect --format '{{.State.Pid}}' $(docker ps -q --filter label=io.berth.pod.name=late | head -1))";
  expect(await must('h1', `nsenter --net=/proc/${pid}/ns/net ip route show default`)).toMatch(/ mtu 1350$/);
  await arrivesWhole();
  expect(await fetchBy('late', 'on-h2')).toBe(digests.get('on-h2'));
  await cluster.router('ip link set link2 mtu 1500');
  // The first green check has the way measured again.
  await eventually('the MTU is what it was', async () =>
    /^h1 +routed .* 1450 +1 direct, 1 tunnel /m.test(await isGreen()) ? true : undefined,
  );
});

it('a router that is cut off is told from both of its sides, and all is well when it is healed', async () => {
  await cluster.hack('cut', 'router');
  const { code, stdout } = await check();
  await cluster.hack('heal', 'router');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^h1: node h2 is not reached: its gateway 10\.42\.\d\.1, through the tunnel to 10\.117\.107\.2, /m);
  expect(stdout).toMatch(/^ {2}look whether node h2 runs .*UDP port 8472 between both nodes has to be open/m);
  expect(stdout).toMatch(/^h2: it does not answer: /m);
  expect(stdout).toMatch(/^h3: node h2 is not reached: /m);
  expect(stdout).not.toMatch(/node h3 is not reached/);
  await isGreen();
  expect(await fetchBy('on-h1', 'on-h2')).toBe(digests.get('on-h2'));
});
