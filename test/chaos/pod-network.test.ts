import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { addressNumber, isInRange, parseAddressRange } from '../../api/meta/address-range.ts';
import type { Pod } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { image, namespace } from './pod-churn.ts';

// Two hosts with pods in the routed network: every pod reaches every other, also after faults of a host.
const hosts = ['h1', 'h2'] as const;
type Host = (typeof hosts)[number];

let cluster: Cluster;

const must = async (host: Host, script: string): Promise<string> => {
  const { code, stdout, stderr } = await cluster.exec(host, 'sh', '-ec', script);
  if (code !== 0) throw new Error(`${script} on ${host} ended with ${code}: ${stderr}`);
  return stdout;
};

const look = (host: Host): Promise<string> =>
  must(host, "ip -oneline link | grep -o 'bth[^@:]*\\|bvx[^@:]*' || :; ip route; nft -s list tables; iptables -S FORWARD");

const pod = (name: string, nodeName: Host): Pod => ({
  metadata: { namespace, name },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['sh', '-c', `echo ${name} >/index.html; exec httpd -f -p 80 -h /`],
        readinessProbe: { handler: { httpGet: { path: '/index.html', port: { type: 0, intVal: 80 } } }, periodSeconds: 1 },
      },
    ],
  },
});

const get = (name: string): Promise<Pod> => cluster.client.pods.get({ namespace, name });
const addressOf = async (name: string): Promise<string> => (await get(name)).status?.podIP ?? '';

async function ready(name: string): Promise<Pod> {
  return eventually(`pod ${name} is ready`, async () => {
    const found = await get(name);
    return isPodReady(found) ? found : undefined;
  });
}

/** What one pod is told by another. */
async function ask(from: string, to: string): Promise<string> {
  const asked = ['exec', from, '--', 'wget', '-qO-', `http://${await addressOf(to)}/index.html`];
  const { stdout, stderr } = await cluster.berth('h1', ...asked);
  return stdout.trim() || stderr;
}

async function allReachAll(): Promise<void> {
  const names = ['a1', 'b1', 'a2', 'b2'];
  for (const from of names) for (const to of names) expect(await ask(from, to), `${from} asks ${to}`).toBe(to);
}

beforeAll(async () => {
  cluster = await createCluster(2);
});
afterAll(async () => {
  await cluster?.close();
});

describe('pods in the routed network', () => {
  it('get addresses of the range of their node, and reach each other, over hosts too', async () => {
    for (const host of hosts) for (const letter of ['a', 'b']) await cluster.client.pods.create(pod(`${letter}${host[1]}`, host));
    for (const host of hosts) {
      const range = parseAddressRange((await cluster.client.nodes.get({ name: host })).spec?.podCIDR ?? '');
      for (const letter of ['a', 'b']) {
        const { podIP = '' } = (await ready(`${letter}${host[1]}`)).status ?? {};
        expect(isInRange(range, addressNumber(podIP) ?? -1), `${podIP} is of ${range.text}`).toBe(true);
      }
    }
    await allReachAll();
    expect(await must('h1', `curl -sf --max-time 5 http://${await addressOf('a2')}/index.html`)).toBe('a2\n');
  });

  it.each([
    ['the firewall was flushed', 'iptables -F FORWARD; nft flush ruleset; iptables -P FORWARD DROP'],
    [
      'routes were removed',
      "ip route | grep '10\\.42\\.' | while read -r route; do ip route del $route; done; ! ip route | grep '10\\.42\\.'",
    ],
  ])('reach each other within 5 s after %s', async (_, script) => {
    await must('h2', script);
    await eventually('the page', async () => ((await ask('a1', 'a2')) === 'a2' ? true : undefined), 5_000);
    await allReachAll();
  });

  it('keep their network while the agent is away, and after it', async () => {
    const first = await addressOf('a2');
    await cluster.berth('h2', 'down');
    expect(await must('h1', `curl -sf --max-time 5 http://${first}/index.html`)).toBe('a2\n');
    await cluster.berth('h2', 'join', '--detach');
    expect((await ready('a2')).status?.podIP).toBe(first);
    expect((await get('a2')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await allReachAll();
  });

  it('are made anew when their link is gone, with another address', async () => {
    const first = await addressOf('a2');
    await must('h2', `ip link delete "$(ip -4 route show ${first} | grep -o 'bth[0-9a-f]*')"`);
    await eventually('another address', async () => {
      const { podIP } = (await get('a2')).status ?? {};
      return podIP && podIP !== first ? true : undefined;
    });
    await ready('a2');
    await allReachAll();
  });

  it('leave nothing behind, and neither does the network', async () => {
    for (const name of ['a1', 'b1', 'a2', 'b2']) await cluster.client.pods.delete({ namespace, name });
    await eventually('no link is left', async () => {
      const links = await Promise.all(hosts.map((host) => must(host, "ip -oneline link | grep -c 'bth' || :")));
      return links.every((count) => count.trim() === '0') ? true : undefined;
    });
    await cluster.berth('h2', 'down', '--purge', '--yes');
    expect(await look('h2')).not.toMatch(/bth|bvx|berth|10\.42\./i);
  });
});
