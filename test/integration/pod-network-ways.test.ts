import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Probe, ProbeResult } from '../../agent/net-check/dns-probe.ts';
import { netPathOf } from '../../agent/pod-network/kept-network.ts';
import { type NetFile, PodNetwork } from '../../agent/pod-network/pod-network.ts';
import { createShell } from '../../agent/pod-network/shell.ts';
import { WayMeasurer } from '../../agent/pod-network/way-measurer.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { systemClock } from '../../client/clock.ts';

// Two machines as network namespaces: on two links with a router between (eth0), and on one link (eth1) whose frames a
// program carries, as a network card does that leaves checksums unfinished.
const tag = process.pid.toString(36);
const machines = ['a', 'b'] as const;
type Machine = (typeof machines)[number];
const namespaceOf = (machine: string): string => `berth-${tag}-${machine}`;
const ranges = { a: '10.118.1.0/28', b: '10.118.2.0/28' };
const started: ChildProcess[] = [];
const networks: PodNetwork[] = [];
let ending = new AbortController();
let running: Promise<void>[] = [];

const inside = (machine: string): string[] => ['nsenter', `--net=/run/netns/${namespaceOf(machine)}`];
const sh = (machine: string, script: string): string =>
  execFileSync('nsenter', [`--net=/run/netns/${namespaceOf(machine)}`, 'sh', '-ec', script], { encoding: 'utf8' });

/** Runs until the end of the test; resolves with its first line. */
async function start(machine: string, ...words: readonly string[]): Promise<ChildProcess> {
  const [program = '', ...args] = [...inside(machine), ...words];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  started.push(child);
  await once(child.stdout!, 'data');
  return child;
}

/** Answers every query with its header. */
const resolver = `const s=require('dgram').createSocket('udp4');s.on('message',(m,{port,address})=>{m[2]|=128;s.send(m.subarray(0,12),port,address)});
s.bind(53,process.argv[1],()=>console.log('up'))`;

const source = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const prober = `import { createInterface } from 'node:readline';
import { probeResolver } from ${JSON.stringify(source('agent/net-check/dns-probe.ts'))};
console.log('"up"');
createInterface(process.stdin).on('line', async (line) => {
  const { id, probe } = JSON.parse(line);
  console.log(JSON.stringify({ id, found: await probeResolver(probe, new AbortController().signal) }));
});`;

/** Probes from where a machine is. */
async function probeFrom(machine: Machine): Promise<(probe: Probe) => Promise<ProbeResult>> {
  const words = ['--import', source('test/conformance/storage-from-source.mjs'), '--input-type=module', '-e', prober];
  const child = await start(machine, process.execPath, ...words);
  const waiting = new Map<number, (found: ProbeResult) => void>();
  createInterface(child.stdout!).on('line', (line) => {
    const { id, found } = JSON.parse(line) as { id: number; found: ProbeResult };
    waiting.get(id)?.(found);
  });
  let last = 0;
  return (probe) =>
    new Promise((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      child.stdin!.write(`${JSON.stringify({ id, probe })}\n`);
    });
}

interface Joined {
  readonly network: PodNetwork;
  readonly measurer: WayMeasurer;
  readonly warnings: string[];
}

/** Both machines with the network of pods and resolvers, and each with the other as its neighbour. */
async function join(addresses: Record<Machine, string>, choice: 'auto' | 'vxlan'): Promise<Record<Machine, Joined>> {
  const of = (machine: Machine) => ({ name: machine, address: addresses[machine], range: parseAddressRange(ranges[machine]) });
  const joined = async (machine: Machine, other: Machine): Promise<Joined> => {
    const [shell, warnings]: [ReturnType<typeof createShell>, string[]] = [createShell(inside(machine)), []];
    const { address, range } = of(machine);
    const common = { shell, clock: systemClock, warn: (message: string) => void warnings.push(message) };
    const readNet = (file: NetFile, pid?: number) => shell.run(`cat ${netPathOf(file, pid)}`);
    const network = new PodNetwork({ ...common, owner: { dataDir: '/d', nodeName: machine }, range, address, readNet, choice });
    networks.push(network);
    await network.start();
    await network.setNeighbours([of(other)]);
    await start(machine, process.execPath, '-e', resolver, network.gateway);
    const probe = await probeFrom(machine);
    const measurer = new WayMeasurer({ ...common, routes: network.neighbours, probe });
    return { network, measurer, warnings };
  };
  const [a, b] = await Promise.all([joined('a', 'b'), joined('b', 'a')]);
  running = [a, b].map(({ measurer }) => measurer.run(ending.signal));
  return { a, b };
}

beforeAll(() => {
  for (const name of [...machines, 'r', 'w']) execFileSync('ip', ['netns', 'add', namespaceOf(name)]);
  for (const [index, machine] of machines.entries()) {
    const batch = [
      'link set lo up',
      `link add eth0 type veth peer name to-${machine} netns ${namespaceOf('r')}`,
      `link add eth1 type veth peer name to-${machine} netns ${namespaceOf('w')}`,
      ...['eth0', 'eth1'].map((link) => `link set ${link} up`),
      `addr add 10.119.${index + 1}.1/24 dev eth0`,
      `addr add 10.119.3.${index + 1}/24 dev eth1`,
      `route add 10.119.0.0/16 via 10.119.${index + 1}.254`,
    ];
    sh(machine, `ip -batch - <<'END'\n${batch.join('\n')}\nEND`);
    sh('r', `ip link set to-${machine} up; ip addr add 10.119.${index + 1}.254/24 dev to-${machine}`);
    sh('w', `echo 1 >/proc/sys/net/ipv6/conf/to-${machine}/disable_ipv6; ip link set to-${machine} up`);
  }
  sh('r', 'echo 1 >/proc/sys/net/ipv4/ip_forward; ip link set to-b mtu 1400');
});
afterEach(async () => {
  ending.abort();
  await Promise.all(running);
  ending = new AbortController();
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const network of networks.splice(0)) await network.remove();
  sh('w', 'ip link delete wire 2>/dev/null || :');
});
afterAll(() => {
  for (const name of [...machines, 'r', 'w']) execFileSync('ip', ['netns', 'delete', namespaceOf(name)]);
});

it('a router with a smaller MTU is found, with and without its word, and forgotten when it has another one', async () => {
  const { a } = await join({ a: '10.119.1.1', b: '10.119.2.1' }, 'auto');
  const { network, measurer, warnings } = a;
  const routes = (): string => sh('a', 'ip route show 10.118.2.0/28; ip route show 10.118.2.1');
  await expect
    .poll(routes, { timeout: 10_000 })
    .toMatch(/^10\.118\.2\.0\/28 via 10\.118\.2\.0 dev bvx\S+ onlink mtu 1350 *\n10\.118\.2\.1 via 10\.118\.2\.0/);
  expect(network.plan.mtu).toBe(1_350);
  await expect
    .poll(() => warnings)
    .toEqual(['packets to pods of node b have room for 1350 bytes, not for 1450: pods are told so']);
  expect(network.plan.neighbours[0]?.room).toBe(1_450);

  sh('r', 'ip link set to-b mtu 1500');
  measurer.again(['b']);
  await expect.poll(routes, { timeout: 10_000 }).toMatch(/^10\.118\.2\.0\/28 via 10\.118\.2\.0 dev bvx\S+ onlink *\n$/);
  expect(network.plan.mtu).toBe(1_450);

  // A firewall that lets nothing be told.
  sh('r', 'ip link set to-b mtu 1400; iptables -A OUTPUT -p icmp -j DROP');
  measurer.again(['b']);
  await expect.poll(routes, { timeout: 15_000 }).toContain('mtu');
  expect(network.plan.mtu).toBeGreaterThan(1_342);
  expect(network.plan.mtu).toBeLessThanOrEqual(1_350);
  await expect.poll(() => warnings.length).toBe(2);
  await network.mend();
  expect(warnings.join()).not.toContain('routes');
}, 60_000);

/** Without an outer checksum, as a card sends what it finishes itself: what is left as it is are those inside. */
const card = `use strict; use Socket;
my @s = map { my ($i) = split /:/, \`ip -o link show $_\`; socket(my $s, 17, SOCK_RAW, unpack('n', pack('S', 3))) or die $!;
  bind($s, pack('S n i x12', 17, 3, $i)) or die $!; $s } @ARGV;
$| = 1; print "up\\n";
while (1) { my $r = ''; vec($r, fileno($_), 1) = 1 for @s; select($r, undef, undef, undef);
  for my $i (0, 1) { next unless vec($r, fileno($s[$i]), 1); my $from = recv($s[$i], my $f, 65536, 0); next unless defined $from;
    next if unpack('x10 C', $from) == 4;
    substr($f, 40, 2) = "\\0\\0" if substr($f, 12, 2) eq "\\x08\\0" && ord(substr($f, 23, 1)) == 17 && unpack('n', substr($f, 36, 2)) == 8472;
    send($s[1 - $i], $f, 0) } }`;

it('a network card that leaves checksums inside of the tunnel unfinished is found, and the kernel computes them', async () => {
  await start('w', 'perl', '-e', card, 'to-a', 'to-b');
  const { a, b } = await join({ a: '10.119.3.1', b: '10.119.3.2' }, 'vxlan');
  const features = (machine: Machine, { network }: Joined): string =>
    sh(machine, `ethtool -k ${network.plan.tunnel} | grep tx-checksum-ip-generic`).trim();
  expect(features('a', a)).toBe('tx-checksum-ip-generic: on');
  await expect.poll(() => features('a', a), { timeout: 10_000 }).toBe('tx-checksum-ip-generic: off');
  await expect.poll(() => features('b', b), { timeout: 10_000 }).toBe('tx-checksum-ip-generic: off');
  await expect.poll(() => a.warnings[0]).toMatch(/^packets through the tunnel reach b with wrong checksums/);
  // Found and not only sought: both reach each other now.
  const lost = (): string => sh('b', "awk '/^Udp:/ && $8 ~ /[0-9]/ { print $8 }' /proc/net/snmp").trim();
  const before = lost();
  expect(Number(before)).toBeGreaterThan(0);
  const probe = await probeFrom('a');
  expect(await probe({ address: '10.118.2.1', name: 'a', packetSize: 1_450 })).toEqual({ result: 'answered' });
  expect(lost()).toBe(before);
  expect(a.measurer.damaged.size + b.measurer.damaged.size).toBe(0);
}, 60_000);

/** A pod of a machine: the address, and what is put before a command inside of it. */
async function startPod(
  machine: Machine,
  { network }: Joined,
): Promise<{ address: string; pid: number; words: readonly string[] }> {
  const child = await start(machine, 'unshare', '--net', 'sh', '-c', 'echo up; exec sleep 600');
  const pid = child.pid!;
  const address = network.pool.take(String(pid));
  await network.attach({ address, pid });
  return { address, pid, words: [`--net=/proc/${pid}/ns/net`] };
}

/** Sends back all that it gets, over TCP and over UDP. */
const echo = `require('net').createServer((s)=>s.on('error',()=>{}).pipe(s)).listen(80,()=>console.log('up'));
const u=require('dgram').createSocket('udp4');u.on('message',(m,{port,address})=>u.send(m,port,address));u.bind(80)`;
/** For each line, a number of bytes: how many of them came back, whole, over one TCP connection. */
const overTcp = `const s=require('net').connect(80,process.argv[1],()=>console.log('up'));let [sent,back]=[Buffer.alloc(0),[]];
s.on('data',(d)=>{back.push(d);const all=Buffer.concat(back);if(all.length>=sent.length)console.log(all.equals(sent)?all.length:'damaged')});
process.stdin.on('data',(n)=>{sent=require('crypto').randomBytes(+n);back=[];s.write(sent)})`;
/** For each line, a number of bytes: what became of a datagram of that many. */
const overUdp = `const s=require('dgram').createSocket('udp4');s.connect(80,process.argv[1],()=>console.log('up'));let t;
const say=(w)=>{clearTimeout(t);console.log(w)};s.on('error',(e)=>say(e.code));s.on('message',(m)=>say('back '+m.length));process.stdin.on('data',(n)=>{t=setTimeout(say,1000,'lost');s.send(Buffer.alloc(+n))})`;

/** A client in a pod, that says what came back of so many bytes. */
async function clientIn(pod: { words: readonly string[] }, program: string, address: string) {
  const child = spawn('nsenter', [...pod.words, process.execPath, '-e', program, address], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  started.push(child);
  const lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('up');
  return async (bytes: number): Promise<string> => {
    child.stdin!.write(String(bytes));
    return (await lines.next()).value as string;
  };
}

/** The datagram that fills a packet of 1,500 bytes. */
const fullDatagram = 1_472;
const megabyte = 1_000_000;

it("pods' packets fill the link where the way is direct, and go on when it turns into a tunnel", async () => {
  sh('r', 'ip link set to-b mtu 1500');
  // The wire of the shared link, without a card's faults.
  sh('w', 'ip link add wire type bridge; ip link set wire up; for each in to-a to-b; do ip link set $each master wire; done');
  const { a, b } = await join({ a: '10.119.3.1', b: '10.119.3.2' }, 'auto');
  expect(a.network.sizes).toEqual({ mtu: 1_500, linkMtu: 1_500 });
  // Each learns by itself what there is room for.
  const [from, other, to] = [await startPod('a', a), await startPod('a', a), await startPod('b', b)];
  const server = spawn('nsenter', [...to.words, process.execPath, '-e', echo], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(server);
  await once(server.stdout!, 'data');
  const [tcp, udp] = [await clientIn(from, overTcp, to.address), await clientIn(other, overUdp, to.address)];
  const sizeOf = (): number => {
    const sizes = execFileSync('nsenter', [...from.words, 'ss', '-tiHn'], { encoding: 'utf8' });
    return Number(/ mss:(\d+)/.exec(sizes)?.[1]);
  };
  expect([await tcp(megabyte), await udp(fullDatagram), sizeOf()]).toEqual([String(megabyte), `back ${fullDatagram}`, 1_448]);

  // The link between both is gone: from here on there is a router.
  for (const [machine, target, router] of [
    ['a', '10.119.3.2', '10.119.1.254'],
    ['b', '10.119.3.1', '10.119.2.254'],
  ] as const)
    sh(machine, `ip route add ${target}/32 via ${router}`);
  sh('r', 'ip route add 10.119.3.1 via 10.119.1.1; ip route add 10.119.3.2 via 10.119.2.1');
  for (const { network } of [a, b]) await network.neighbours.restore();
  expect(sh('a', 'ip route show 10.118.2.0/28')).toMatch(/dev bvx/);

  expect([await tcp(megabyte), sizeOf()]).toEqual([String(megabyte), 1_398]);
  // The first one is lost, and the sender is told why; then the first answer. From there on they go in fragments.
  const datagrams = [await udp(fullDatagram), await udp(fullDatagram), await udp(fullDatagram)];
  expect(datagrams).toEqual(['EMSGSIZE', 'lost', `back ${fullDatagram}`]);
  expect(await udp(60_000)).toBe('back 60000');
  // A pod that starts now knows it before its first packet.
  const late = await startPod('a', a);
  const route = execFileSync('nsenter', [...late.words, 'ip', 'route', 'show', 'default'], { encoding: 'utf8' });
  expect(route).toContain(' mtu 1450');
  // The older pod, which answers, learns the path MTU anew for each address that it answers to.
  const sent = await clientIn(late, overUdp, to.address);
  expect([await sent(fullDatagram), await sent(fullDatagram)]).toEqual(['lost', `back ${fullDatagram}`]);

  // The next look at the pods writes the routes of those that ran before: they lose nothing from then on.
  const defaultOf = ({ words }: { words: readonly string[] }): string =>
    execFileSync('nsenter', [...words, 'ip', 'route', 'show', 'default'], { encoding: 'utf8' });
  expect([defaultOf(other), defaultOf(to)].join()).not.toContain('mtu');
  expect(await a.network.joined([from, other, late])).toEqual(new Set([from, other, late].map(({ address }) => address)));
  await b.network.joined([to]);
  for (const pod of [from, other, to]) expect(defaultOf(pod)).toContain(' mtu 1450');
  const fresh = await clientIn(other, overUdp, (await startPod('b', b)).address);
  expect(await fresh(fullDatagram)).not.toBe('EMSGSIZE');
}, 60_000);
