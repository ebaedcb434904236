import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { Pod } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { image, namespace } from './pod-churn.ts';

// Two hosts with pods in the routed network: `berth net check` is green, tells the truth after faults, and is green
// again.
let cluster: Cluster;

const forwarding = '/proc/sys/net/ipv4/ip_forward';
const check = (...args: string[]) => cluster.berth('h1', 'net', 'check', ...args);
const must = async (host: string, script: string): Promise<void> => {
  const { code, stderr } = await cluster.exec(host, 'sh', '-ec', script);
  if (code !== 0) throw new Error(`${script} on ${host} ended with ${code}: ${stderr}`);
};

async function isGreen(patienceMs?: number): Promise<void> {
  const green = async () => {
    const { code, stdout, stderr } = await check();
    if (code !== 0) throw new Error(`it ended with ${code}: ${stdout}${stderr}`);
    return true;
  };
  await eventually('all is well', green, patienceMs);
  const { stdout } = await check();
  const row = (host: string, range: string) => new RegExp(`^${host} +routed +${range} +\\d+ +1 direct +ok +ok +ok +1/1 +0$`, 'm');
  expect(stdout).toMatch(row('h1', '10.42.0.0/24'));
  expect(stdout).toMatch(row('h2', '10.42.1.0/24'));
}

beforeAll(async () => {
  cluster = await createCluster(2);
});
afterAll(async () => {
  await cluster?.close();
});

describe('berth net check', () => {
  it('is green where all is well', async () => {
    await isGreen();
    const { ok, items } = JSON.parse((await check('-o', 'json')).stdout) as {
      ok: boolean;
      items: { peers: { nodeName: string; reached: boolean }[]; items: { check: string; ok: boolean }[] }[];
    };
    expect([ok, items.map(({ peers }) => peers.map(({ nodeName, reached }) => [nodeName, reached]))]).toEqual([
      true,
      [[['h2', true]], [['h1', true]]],
    ]);
    expect(items[0]?.items.map((each) => [each.check, each.ok])).toEqual(
      ['network', 'routes', 'firewall', 'services', 'names', 'mtu', 'nodes', 'pods'].map((name) => [name, true]),
    );
  });

  it('tells of a host that is cut off, from both ends, and is green when it is healed', async () => {
    await cluster.hack('cut', 'h2');
    const { code, stdout, stderr } = await check();
    await cluster.hack('heal', 'h2');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^h1 +routed .* 0\/1 +0$/m);
    expect(stdout).toMatch(/^h1: node h2 is not reached: its gateway 10\.42\.1\.1, directly to 10\.117\.8\.2, /m);
    expect(stdout).toMatch(/^h2: it does not answer: node "h2" /m);
    expect(stderr).toContain('the network is not whole: 2 problems on 2 nodes');
    await isGreen(60_000);
  });

  it.each([
    [
      'a machine that forwards nothing any more',
      // Read-only: the agent would turn it on again within 2 s, often before the check has read it.
      `echo 0 > ${forwarding}; echo 0 > /tmp/off; mount --bind /tmp/off ${forwarding}; mount -o remount,bind,ro ${forwarding}`,
      /h2: the machine forwards no packets/,
      `umount ${forwarding}; echo 1 > ${forwarding}; rm /tmp/off`,
    ],
    [
      'a firewall that lets no queries in',
      'iptables -I INPUT -p udp --dport 53 -j DROP',
      /h1: node h2 is not reached: its gateway 10\.42\.1\.1, directly to 10\.117\.8\.2, does not answer[\s\S]*h2: the resolver at 10\.42\.1\.1 does not answer/,
      'iptables -D INPUT -p udp --dport 53 -j DROP',
    ],
    [
      'a path that carries small packets only',
      'iptables -I INPUT -p udp --dport 53 -i eth0 -m length --length 1000: -j DROP',
      // Where the agent has measured the way meanwhile, with what does get through.
      /h1: (packets of 1500 bytes, which pods send, do not get through to node h2|the network between this node and node h2 has an MTU of 9\d\d: pods' packets may have 9\d\d bytes, not 1500)/,
      'iptables -D INPUT -p udp --dport 53 -i eth0 -m length --length 1000: -j DROP',
    ],
  ])('tells of %s', async (_, fault, told, mended) => {
    await must('h2', fault);
    const { code, stdout } = await check();
    await must('h2', mended);
    expect([code, stdout]).toEqual([1, expect.stringMatching(told)]);
    await isGreen();
  });

  it("names pods that are still in the engine's network", async () => {
    const pod = (name: string): Pod => ({
      metadata: { namespace, name },
      spec: {
        nodeName: 'h2',
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['sleep', '3600'] }],
      },
    });
    const ready = (name: string) =>
      eventually(`pod ${name} is ready`, async () =>
        isPodReady(await cluster.client.pods.get({ namespace, name })) ? true : undefined,
      );
    await cluster.berth('h2', 'down');
    await cluster.berth('h2', 'join', '--detach', '--pod-network', 'engine');
    await cluster.client.pods.create(pod('old'));
    await ready('old');
    await cluster.berth('h2', 'down');
    // It would keep the flag that it was given before.
    await cluster.berth('h2', 'join', '--detach', '--pod-network', 'routed');
    await eventually('it is told', async () =>
      (await check()).stdout.includes(
        `h2: pods are still in the engine's network, where other nodes do not reach them: ${namespace}/old\n`,
      )
        ? true
        : undefined,
    );
  });
});
