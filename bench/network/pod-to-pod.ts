import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { atLeast, atMost, type Figure, median, note } from '../figure.ts';
import type { Part } from '../parts.ts';
import { UsageError } from '../usage-error.ts';
import { addressOf, type BenchHosts, type Host, hosts, machineAddress, onHosts, podOn } from './hosts.ts';

const defaultRounds = 7;
const throughputSeconds = 3;
const pings = 2_000;
const other = (host: Host): Host => (host === 'h1' ? 'h2' : 'h1');

type Way = 'direct' | 'tunnel';

/** Two ends, on h1 and h2: what is put before a command, and the second's address. */
interface Ends {
  readonly inside: Record<Host, string>;
  readonly target: string;
}

interface Sample {
  readonly bitsPerSecond: number;
  readonly roundTripMs: number;
}

/**
 * Throughput (iperf3, one TCP connection) and latency (ping) between pods of two hosts, against a namespace, veth and
 * route made by hand between the same hosts, in turn. `tunnel`: hosts that reach each other through a router, so that
 * pods are in VXLAN; by hand as well.
 */
export function benchPodToPod(way: Way): Part {
  return async (say, option) => {
    checkPrograms();
    const rounds = Number(option ?? defaultRounds);
    const throughRouter = (host: Host): string => {
      // The machine is the router; it would tell them of the shorter way.
      const quiet = ['all', 'eth0'].map((name) => `echo 0 > /proc/sys/net/ipv4/conf/${name}/accept_redirects`);
      return [...quiet, `ip route replace ${addressOf(other(host))}/32 via ${machineAddress}`].join('\n');
    };
    return onHosts((cluster) => compare(cluster, { way, rounds, say }), way === 'tunnel' ? throughRouter : undefined);
  };
}

function checkPrograms(): void {
  for (const [program, name] of Object.entries({ iperf3: 'iperf3', ping: 'iputils-ping' }))
    if (spawnSync(program, ['-h']).error !== undefined)
      throw new UsageError(`${program} is missing: install Debian's package ${name} (its service need not run)`);
}

async function compare(
  cluster: BenchHosts,
  { way, rounds, say }: { readonly way: Way; readonly rounds: number; readonly say: (text: string) => void },
): Promise<Figure[]> {
  for (const host of hosts) await cluster.run(host, handMade(host, way));
  const byHand: Ends = { inside: { h1: 'ip netns exec hand', h2: 'ip netns exec hand' }, target: handAddress('h2') };
  const [first, second] = [
    await cluster.runPod(podOn('h1', 'one', ['sleep', '3600'])),
    await cluster.runPod(podOn('h2', 'two', ['sleep', '3600'])),
  ];
  const pods: Ends = { inside: { h1: first.inside, h2: second.inside }, target: second.address };
  const found = await cluster.run('h1', `ip route get ${second.address}`);
  const isTunnel = /dev bvx/.test(found);
  if (isTunnel !== (way === 'tunnel')) throw new Error(`pods do not reach each other as they are to (${way}): ${found}`);
  const samples: Record<'hand' | 'pods', Sample[]> = { hand: [], pods: [] };
  for (let round = 0; round <= rounds; round++) {
    // Each is first in turn.
    const order = [['hand', byHand] as const, ['pods', pods] as const];
    for (const [name, ends] of round % 2 === 0 ? order : order.toReversed()) {
      const sample = await measure(cluster, ends);
      // The first warms up.
      if (round > 0) samples[name].push(sample);
    }
    const [hand, pod] = [samples.hand.at(-1), samples.pods.at(-1)];
    if (hand && pod) say(`round ${round}/${rounds}: by hand ${words(hand)}; pods ${words(pod)}`);
  }
  const of = (name: 'hand' | 'pods', key: keyof Sample): number => median(samples[name].map((sample) => sample[key]));
  const ratio = (key: keyof Sample): number => of('pods', key) / of('hand', key);
  return [
    note('throughput by hand', of('hand', 'bitsPerSecond') / 1e9, 'Gbit/s'),
    note('throughput of pods', of('pods', 'bitsPerSecond') / 1e9, 'Gbit/s'),
    atLeast('throughput of pods against by hand', ratio('bitsPerSecond'), 'times', 0.95),
    note('round trip by hand, p50', 1_000 * of('hand', 'roundTripMs'), 'us'),
    note('round trip of pods, p50', 1_000 * of('pods', 'roundTripMs'), 'us'),
    atMost('round trip of pods against by hand', ratio('roundTripMs'), 'times', 1.1),
  ];
}

const words = ({ bitsPerSecond, roundTripMs }: Sample): string =>
  `${(bitsPerSecond / 1e9).toFixed(1)} Gbit/s, ${(1_000 * roundTripMs).toFixed(0)} us`;

async function measure(cluster: BenchHosts, { inside, target }: Ends): Promise<Sample> {
  const server = cluster.start('h2', 'sh', '-c', `exec ${inside.h2} iperf3 -s -1 --forceflush`);
  // "Server listening".
  await once(server.stdout!, 'data');
  server.stdout!.resume();
  const ended = once(server, 'close');
  const report = await cluster.run('h1', `${inside.h1} iperf3 -c ${target} -t ${throughputSeconds} -J`);
  await ended;
  // Each as soon as the one before is answered: with pauses it is mostly the waking of an idle processor.
  const lines = await cluster.run('h1', `${inside.h1} ping -n -A -c ${pings} ${target}`);
  const times = [...lines.matchAll(/time=([\d.]+) ms/g)].map(([, ms]) => Number(ms));
  return {
    bitsPerSecond: (JSON.parse(report) as { end: { sum_received: { bits_per_second: number } } }).end.sum_received
      .bits_per_second,
    roundTripMs: median(times),
  };
}

const handAddress = (host: Host): string => `10.99.${host[1]}.2`;
const handRange = (host: Host): string => `10.99.${host[1]}.0/24`;
const gateway = '169.254.2.1';
const mac = (kind: string, host: Host): string => `02:99:00:00:${kind}:0${host[1]}`;

/**
 * What one would type: a namespace with a veth, and the way to the other host's; the tunnel is one of its own, beside
 * that of Berth. The engine drops what is forwarded.
 */
function handMade(host: Host, way: Way): string {
  const peer = other(host);
  const vxlan = `type vxlan id 99 local ${addressOf(host)} dstport 8499 nolearning`;
  const ways: Record<Way, readonly string[]> = {
    direct: [`ip route add ${handRange(peer)} via ${addressOf(peer)}`],
    tunnel: [
      `ip link add handx address ${mac('02', host)} mtu 1450 ${vxlan}`,
      `ip address add 10.99.${host[1]}.0/32 dev handx`,
      'ip link set handx up',
      `ip neighbour add 10.99.${peer[1]}.0 lladdr ${mac('02', peer)} dev handx nud permanent`,
      `bridge fdb append ${mac('02', peer)} dev handx dst ${addressOf(peer)}`,
      `ip route add ${handRange(peer)} via 10.99.${peer[1]}.0 dev handx onlink`,
    ],
  };
  const mtu = way === 'tunnel' ? 1_450 : 1_500;
  return [
    'ip netns add hand',
    `ip link add hand0 address ${mac('00', host)} mtu ${mtu} type veth peer name eth0 address ${mac('01', host)} mtu ${mtu} netns hand`,
    'ip link set hand0 up',
    'ip -n hand link set lo up',
    'ip -n hand link set eth0 up',
    `ip -n hand address add ${handAddress(host)}/32 dev eth0`,
    `ip -n hand route add ${gateway} dev eth0 scope link`,
    `ip -n hand neighbour add ${gateway} lladdr ${mac('00', host)} dev eth0 nud permanent`,
    `ip -n hand route add default via ${gateway}`,
    `ip route add ${handAddress(host)}/32 dev hand0`,
    `ip neighbour add ${handAddress(host)} lladdr ${mac('01', host)} dev hand0 nud permanent`,
    'iptables -I FORWARD -i hand0 -j ACCEPT',
    'iptables -I FORWARD -o hand0 -j ACCEPT',
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
    ...ways[way],
  ].join('\n');
}
