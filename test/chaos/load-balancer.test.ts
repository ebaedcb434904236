import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { addressLeaseSeconds } from '../../api/meta/load-balancers.ts';
import type { DaemonSet, Lease, Pod, Service } from '../../client/index.ts';
import { eventually, run } from '../e2e/installation.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { image, namespace } from './pod-churn.ts';

// Two hosts with pods in the routed network, and this machine as a third on their link, which is no part of the
// cluster: load balancers answer it at addresses that only one host at a time answers ARP requests for.
type Host = 'h1' | 'h2';
const hosts: readonly Host[] = ['h1', 'h2'];
const [link, own] = ['berth-hosts8', '10.117.8.254'];
const [first, second, third] = ['192.0.2.10', '192.0.2.11', '192.0.2.12'];
const probe = fileURLToPath(new URL('../fixtures/arp-probe.pl', import.meta.url));

let cluster: Cluster;

const must = async (host: Host, script: string): Promise<string> => {
  const { code, stdout, stderr } = await cluster.exec(host, 'sh', '-ec', script);
  if (code !== 0) throw new Error(`${script} on ${host} ended with ${code}: ${stderr}`);
  return stdout;
};

/** Answers with its own name and the address of its client. */
const server = `mkdir -p /www/cgi-bin; printf '#!/bin/sh\\necho; echo $(hostname) $REMOTE_ADDR\\n' >/www/cgi-bin/who; chmod +x /www/cgi-bin/who
trap "kill $!; exit 0" TERM; httpd -f -p 80 -h /www & wait`;
const podSpec: NonNullable<Pod['spec']> = {
  terminationGracePeriodSeconds: 5,
  containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', server] }],
};
const web: DaemonSet = {
  metadata: { namespace, name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: podSpec,
    },
  },
};
const balanced = (name: string, spec: Service['spec'] = {}): Service => ({
  metadata: { namespace, name },
  spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }], ...spec },
});

/** The words that the pod says, from this machine; "" when nothing answers. */
async function ask(address: string): Promise<string> {
  return (await run('curl', ['-sf', '--max-time', '1', `http://${address}/cgi-bin/who`])).stdout.trim();
}

const get = (name: string): Promise<Service> => cluster.client.services.get({ namespace, name });

async function leaseOf(address: string): Promise<NonNullable<Lease['spec']>> {
  return (await cluster.client.leases.get({ namespace: 'kube-system', name: `lb-${address}` })).spec ?? {};
}

const holderOf = async (address: string): Promise<string> => (await leaseOf(address)).holderIdentity ?? '';

/** The host that holds an address, once one does, answers and renews it: one that ends leaves it for longer. */
const heldBy = (address: string): Promise<Host> =>
  eventually(`${address} is held and answers`, async () => {
    const { holderIdentity: host = '', leaseDurationSeconds } = await leaseOf(address);
    const isRenewed = host !== '' && leaseDurationSeconds === addressLeaseSeconds.least;
    return isRenewed && (await ask(address)) !== '' ? (host as Host) : undefined;
  });

interface Answer {
  readonly at: number;
  readonly address: string;
  readonly mac: string;
}

/** Asks the link by ARP while something happens, which begins after the first answer, and for so long afterwards. */
async function probing<T>(secondsMore: number, happens: () => Promise<T>): Promise<{ answers: Answer[]; result: T }> {
  const [, index = '', mac = ''] =
    /^(\d+):.*link\/ether (\S+)/.exec((await run('ip', ['-oneline', 'link', 'show', link])).stdout) ?? [];
  const child = spawn('perl', [probe, index, mac, own, first, second, third], { timeout: 120_000 });
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const ended = once(child, 'close');
  // A probe that ends hears no answer.
  await Promise.race([once(child.stdout, 'data'), ended]);
  try {
    const result = await happens();
    await Promise.race([delay(secondsMore * 1_000), ended]);
    expect(child.exitCode, `the probe goes on: ${stderr}`).toBe(null);
    return { answers: answersIn(stdout), result };
  } finally {
    child.kill();
    await ended;
  }
}

function answersIn(stdout: string): Answer[] {
  return stdout
    .slice(0, stdout.lastIndexOf('\n'))
    .split('\n')
    .map((line): Answer => {
      const [at = '', address = '', mac = ''] = line.split(' ');
      return { at: Number(at), address, mac };
    });
}

/** Requests that two hosts answered. */
function answeredTwice(answers: readonly Answer[]): string[] {
  const macs = new Map<string, Set<string>>();
  for (const { at, address, mac } of answers) {
    const key = `${address} at ${at}`;
    macs.set(key, (macs.get(key) ?? new Set()).add(mac));
  }
  return [...macs].filter(([, all]) => all.size > 1).map(([key, all]) => `${key}: ${[...all].join(' and ')}`);
}

/** How long after a moment another host than the first answered. */
function takenOverAfter(answers: readonly Answer[], address: string, since: number): number {
  const own = answers.filter((each) => each.address === address);
  const before = own[0]?.mac;
  const next = own.find(({ at, mac }) => at >= since && mac !== before);
  return next === undefined ? Number.POSITIVE_INFINITY : next.at - since;
}

const longestGap = (answers: readonly Answer[], address: string): number => {
  const times = answers.filter((each) => each.address === address).map(({ at }) => at);
  return Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? 0)));
};

beforeAll(async () => {
  cluster = await createCluster(2, '--load-balancer-addresses', `${first}-${third}`);
  await run('ip', ['route', 'replace', '192.0.2.0/24', 'dev', link]);
  // A bridge has the least address of its ports, unless it is set: it would change when a host dies.
  const mac = /ether (\S+)/.exec((await run('ip', ['link', 'show', link])).stdout)?.[1] ?? '';
  await run('ip', ['link', 'set', link, 'address', mac]);
  // The hosts have no default route.
  for (const host of hosts) await must(host, 'ip route replace 192.0.2.0/24 dev eth0');
  await cluster.client.daemonSets.create(web);
  await eventually('all pods are ready', async () => {
    const { items } = await cluster.client.pods.list({ namespace });
    return items.length === 2 && items.every(isPodReady) ? true : undefined;
  });
  for (const name of ['a', 'b']) await cluster.client.services.create(balanced(name));
});
afterAll(async () => {
  await cluster?.close();
});

describe('load balancers', () => {
  it('get addresses of the pool, which are spread over the hosts and answer a machine on their link', async () => {
    const holders = [await heldBy(first), await heldBy(second)];
    expect(holders.toSorted()).toEqual(['h1', 'h2']);
    for (const address of [first, second]) {
      const answers = new Set<string>();
      for (let i = 0; i < 20; i++) answers.add((await ask(address)).split(' ')[0] ?? '');
      expect([...answers].filter((name) => name.startsWith('web-'))).toHaveLength(2);
    }
    expect((await cluster.berth('h1', 'get', 'svc', 'a')).stdout).toContain(first);
    for (const host of hosts) expect(await must(host, `curl -sf --max-time 5 http://${first}/cgi-bin/who`)).toContain('web-');
    const nodes = await cluster.client.nodes.list();
    expect(JSON.stringify(nodes.items.map(({ status }) => status?.addresses))).not.toContain('192.0.2.');
  });

  it('wait with a clear sentence for an address that another one has', async () => {
    await cluster.client.services.create(balanced('wishes', { loadBalancerIP: first }));
    const sentence = `spec.loadBalancerIP ${first} is the address of the service "${namespace}/a"`;
    await eventually('it is told', async () =>
      (await cluster.berth('h1', 'why', 'svc/wishes')).stdout.includes(sentence) ? true : undefined,
    );
    expect((await cluster.berth('h1', 'get', 'svc', 'wishes')).stdout).toContain('<pending>');
    await cluster.client.services.delete({ namespace, name: 'wishes' });
  });

  it('let in only the sources that they name', async () => {
    const patch = (...loadBalancerSourceRanges: string[]) =>
      cluster.client.services.patch({ namespace, name: 'a' }, { spec: { loadBalancerSourceRanges } });
    await patch('203.0.113.0/24');
    await eventually('this machine is shut out', async () => ((await ask(first)) === '' ? true : undefined));
    await patch(`${own}/32`);
    await eventually('this machine is let in', async () => ((await ask(first)) !== '' ? true : undefined));
    await cluster.client.services.patch({ namespace, name: 'a' }, { spec: { loadBalancerSourceRanges: null } });
  });

  it('with policy Local keep the client’s address, and tell at the health port which host has pods', async () => {
    await cluster.client.services.create(balanced('local', { externalTrafficPolicy: 'Local' }));
    await heldBy(third);
    expect(await ask(third)).toMatch(new RegExp(`^web-\\S+ \\[::ffff:${own}\\]$`));
    const port = (await get('local')).spec?.healthCheckNodePort ?? 0;
    const health = async (host: Host): Promise<string> =>
      (await run('curl', ['-s', '--max-time', '2', '-w', '%{http_code}', `http://10.117.8.${host[1]}:${port}/`])).stdout;
    for (const host of hosts) expect(await health(host)).toMatch(/"localEndpoints":1,"serviceProxyHealthy":true}\n200$/);
    await cluster.client.services.patch({ namespace, name: 'local' }, { spec: { selector: { app: 'none' } } });
    for (const host of hosts)
      await eventually('it has no endpoint', async () => ((await health(host)).endsWith('503') ? true : undefined), 10_000);
    await eventually('no host holds it', async () => ((await holderOf(third)) === '' ? true : undefined), 10_000);
    await cluster.client.services.delete({ namespace, name: 'local' });
  });

  it('go on while the agent of their host starts again', async () => {
    const host = await heldBy(first);
    const pid = (await must(host, 'cat /var/lib/berth/run/agent.pid')).trim();
    const { answers } = await probing(6, async () => {
      await must(host, `kill -TERM ${pid}`);
      await eventually('another agent runs', async () => {
        const next = (await must(host, 'cat /var/lib/berth/run/agent.pid')).trim();
        return next !== pid ? true : undefined;
      });
    });
    expect(answeredTwice(answers)).toEqual([]);
    expect(new Set(answers.filter(({ address }) => address === first).map(({ mac }) => mac)).size).toBe(1);
    expect(longestGap(answers, first)).toBeLessThan(1_000);
    expect(await holderOf(first)).toBe(host);
  });

  it.each<[string, (host: Host) => Promise<unknown>, (host: Host) => Promise<unknown>]>([
    [
      'the agent of its host stands still',
      (host) => must(host, 'kill -STOP $(cat /var/lib/berth/run/agent.pid)'),
      (host) => must(host, 'kill -CONT $(cat /var/lib/berth/run/agent.pid)'),
    ],
    [
      'its host does not reach the server, and is on the link all the same',
      (host) => must(host, 'iptables -w -I OUTPUT -p tcp --dport 7443 -j DROP'),
      (host) => must(host, 'iptables -w -D OUTPUT -p tcp --dport 7443 -j DROP'),
    ],
  ])('answer from another host within 5 s when %s, and never from two', async (_, cut, heal) => {
    const host = await heldBy(first);
    const { answers, result: since } = await probing(8, async () => {
      const cutAt = Date.now();
      await cut(host);
      const isTakenOver = async () => ![host, ''].includes(await holderOf(first)) && (await ask(first)) !== '';
      await eventually('another host answers', async () => (await isTakenOver()) || undefined, 10_000);
      await heal(host);
      return cutAt;
    });
    expect(answeredTwice(answers)).toEqual([]);
    const ms = takenOverAfter(answers, first, since);
    console.log(`${_}: taken over after ${ms} ms`);
    expect(ms, 'milliseconds').toBeLessThan(5_000);
    expect(await ask(first)).toMatch(/^web-/);
  });

  it('answer within 5 s when their host dies', async () => {
    // Led to a pod of the host that stays: pods of the other are endpoints until it is given up.
    const solo: Pod = { metadata: { namespace, name: 'solo', labels: { app: 'solo' } }, spec: { ...podSpec, nodeName: 'h1' } };
    await cluster.client.pods.create(solo);
    for (const name of ['a', 'b'])
      await cluster.client.services.patch({ namespace, name }, { spec: { selector: { app: 'solo' } } });
    const isOnSecond = async (each: string) => (await holderOf(each).catch(() => '')) === 'h2';
    let address = (await isOnSecond(first)) ? first : second;
    if (!(await isOnSecond(address))) {
      // A new one goes to the host that holds the fewest.
      await cluster.client.services.create(balanced('c', { selector: { app: 'solo' } }));
      address = third;
    }
    await eventually('h2 holds it', async () => ((await isOnSecond(address)) ? true : undefined));
    await eventually('it answers', async () => ((await ask(address)).startsWith('solo') ? true : undefined));
    const { answers, result } = await probing(3, async () => {
      const diedAt = Date.now();
      void cluster.hack('kill-host', 'h2');
      await eventually('it is down', async () => ((await ask(address)) === '' ? true : undefined), 3_000).catch(() => undefined);
      const back = await eventually(
        'it answers again',
        async () => ((await ask(address)) !== '' ? Date.now() : undefined),
        10_000,
      );
      return { diedAt, back };
    });
    expect(answeredTwice(answers)).toEqual([]);
    const ms = takenOverAfter(answers, address, result.diedAt);
    console.log(`host died: taken over after ${ms} ms, answers after ${result.back - result.diedAt} ms`);
    expect(ms).toBeLessThan(5_000);
  });

  it('leave no address on a host that is purged', async () => {
    const before = await must('h1', 'ip -4 -oneline address show dev eth0');
    expect(before).toContain('192.0.2.');
    await cluster.berth('h1', 'down', '--purge', '--yes');
    expect(await must('h1', 'ip -4 -oneline address; ip route')).not.toMatch(/192\.0\.2\.1\d|240\./);
  });
});
