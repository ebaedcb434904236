import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MachineFacts, readMachine } from '../../agent/net-check/machine-facts.ts';
import { NftProcess } from '../../agent/nft/nft-process.ts';
import { tableOf } from '../../agent/pod-network/firewall.ts';
import { gatewayLinkOf } from '../../agent/pod-network/gateway-link.ts';
import { netPathOf } from '../../agent/pod-network/kept-network.ts';
import { macOf } from '../../agent/pod-network/link-commands.ts';
import { PodNetwork, type PodNetworkOptions } from '../../agent/pod-network/pod-network.ts';
import { createShell } from '../../agent/pod-network/shell.ts';
import { parseAddressRange } from '../../api/meta/address-range.ts';
import { systemClock } from '../../client/clock.ts';
import { createFakeClock } from '../fakes/fake-clock.ts';

// Two machines and a host outside the cluster, as network namespaces on one link; a pod is a process with a namespace
// of its own.
const tag = process.pid.toString(36);
const machines = ['a', 'b', 'o'] as const;
type Machine = (typeof machines)[number];
const namespaceOf = (machine: Machine): string => `berth-${tag}-${machine}`;
const addresses: Record<Machine, string> = { a: '10.119.7.1', b: '10.119.7.2', o: '10.119.7.3' };
const ranges = { a: '10.118.1.0/28', b: '10.118.2.0/28' };

const started: ChildProcess[] = [];
const warnings: string[] = [];
const networks = new Map<string, PodNetwork>();

const asDocker =
  'iptables -P FORWARD DROP; iptables -N DOCKER-USER; iptables -A DOCKER-USER -j RETURN; iptables -A FORWARD -j DOCKER-USER';

const inMachine = (machine: Machine): string[] => ['nsenter', `--net=/run/netns/${namespaceOf(machine)}`];
const sh = (machine: Machine, script: string): string =>
  execFileSync('nsenter', [`--net=/run/netns/${namespaceOf(machine)}`, 'sh', '-ec', script], { encoding: 'utf8' });

function networkOf(machine: 'a' | 'b', parts: Partial<PodNetworkOptions> = {}): PodNetwork {
  const shell = createShell(inMachine(machine));
  return new PodNetwork({
    shell,
    owner: { dataDir: '/d', nodeName: machine },
    range: parseAddressRange(ranges[machine]),
    address: addresses[machine],
    clock: systemClock,
    warn: (message) => warnings.push(message),
    readNet: (file, pid) => shell.run(`cat ${netPathOf(file, pid)}`),
    ...parts,
  });
}

/** What a check reads of node a, with the way to node b. */
const factsOf = (network: PodNetwork): Promise<MachineFacts> =>
  readMachine(createShell(inMachine('a')), network.plan, ['10.118.2.1']);
const whole = { forwards: true, accepts: true, hasGateway: true };

const neighbourOf = (machine: 'a' | 'b') => ({
  name: machine,
  address: addresses[machine],
  range: parseAddressRange(ranges[machine]),
});

const clusterOf = (services: string) => ({
  pods: [parseAddressRange('10.118.0.0/16')],
  services: [parseAddressRange(services)],
});

interface TestPod {
  readonly pid: number;
  readonly address: string;
  readonly process: ChildProcess;
}

/** A process in an empty network namespace of its own. */
async function startAlone(): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn('unshare', ['--net', 'sleep', '600'], { stdio: 'ignore' });
  started.push(child);
  await once(child, 'spawn');
  const own = execFileSync('readlink', ['/proc/self/ns/net'], { encoding: 'utf8' });
  const pid = child.pid!;
  await expect.poll(() => execFileSync('readlink', [`/proc/${pid}/ns/net`], { encoding: 'utf8' })).not.toBe(own);
  return child as ChildProcess & { readonly pid: number };
}

async function startPod(network: PodNetwork): Promise<TestPod> {
  const child = await startAlone();
  const { pid } = child;
  const address = network.pool.take(String(pid));
  await network.links.attach({ address, pid, ...network.sizes });
  return { pid, address, process: child };
}

/** Serves on port 80 of a namespace: tells each client its address, and how many bytes it has sent. */
const server = `require('net').createServer({allowHalfOpen:true},(s)=>{let n=0;s.on('error',()=>{});s.on('data',(d)=>{n+=d.length});s.on('end',()=>s.end(s.remoteAddress+' '+n))}).listen(80,()=>console.log('up'))`;

async function serve(namespace: string): Promise<void> {
  const child = spawn('nsenter', [`--net=${namespace}`, process.execPath, '-e', server], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  await once(child.stdout!, 'data');
}

const client = `const [h,n]=process.argv.slice(1);const s=require('net').connect(80,h);s.setTimeout(3000,()=>{console.log('timeout');process.exit()});let t='';s.on('connect',()=>s.end(Buffer.alloc(+n)));s.on('data',(d)=>t+=d);s.on('error',(e)=>{console.log(e.code);process.exit()});s.on('close',()=>console.log(t))`;

/** What the server behind an address answers to a client in a namespace, or the code of the error. */
async function ask(namespace: string, address: string, bytes = 1): Promise<string> {
  const args = [`--net=${namespace}`, process.execPath, '-e', client, address, String(bytes)];
  const child = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout!.on('data', (data: Buffer) => {
    text += String(data);
  });
  await once(child, 'close');
  return text.trim();
}

const inRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The agent's resolver at an address of a machine, with one Service. */
async function startNames(machine: Machine, address: string): Promise<void> {
  const words = [
    '--import',
    inRepository('test/conformance/storage-from-source.mjs'),
    inRepository('test/fakes/names-process.ts'),
    address,
  ];
  const child = spawn('nsenter', [`--net=${inside(machine)}`, process.execPath, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  await once(child.stdout!, 'data');
}

function startDnsmasq(machine: Machine, ...args: readonly string[]): void {
  const fixed = ['--keep-in-foreground', '--conf-file=/dev/null', '--no-resolv', '--no-hosts', '--pid-file=', '--user='];
  started.push(spawn('nsenter', [`--net=${inside(machine)}`, 'dnsmasq', ...fixed, ...args], { stdio: 'ignore' }));
}

/** What a name server answers to a client in a namespace, in short. */
function dig(namespace: string, server: string, ...asked: readonly string[]): string {
  const words = [`--net=${namespace}`, 'dig', `@${server}`, '+short', '+tries=1', '+time=5', ...asked];
  return execFileSync('nsenter', words, { encoding: 'utf8' }).trim();
}

/** Prints the source address of each datagram. */
const hear = `const s=require('dgram').createSocket('udp4');s.on('message',(m,{address})=>console.log('from '+address));s.bind(81,()=>console.log('up'))`;
/** Sends one datagram from an address. */
const send = `const [to,from]=process.argv.slice(1);const s=require('dgram').createSocket('udp4');s.bind({address:from},()=>s.send('x',81,to,()=>s.close()))`;

/** Sends a frame of our tunnels to a node, with a datagram of any address for another one in it. */
const forge = `const [node,mac,from,to]=process.argv.slice(1);const ip=(t)=>Buffer.from(t.split('.').map(Number));
const udp=Buffer.from([0,81,0,81,0,9,0,0,120]);const head=Buffer.alloc(20);head.set([0x45,0,0,29,0,0,0,0,64,17]);ip(from).copy(head,12);ip(to).copy(head,16);
let sum=0;for(let i=0;i<20;i+=2)sum+=head.readUInt16BE(i);while(sum>>16)sum=(sum&0xffff)+(sum>>16);head.writeUInt16BE(~sum&0xffff,10);
const frame=Buffer.concat([Buffer.from([8,0,0,0,0,0x12,0xd1,0]),Buffer.from(mac.split(':').map((x)=>parseInt(x,16))),Buffer.from([10,88,0,0,0,9,8,0]),head,udp]);
const s=require('dgram').createSocket('udp4');s.send(frame,8472,node,()=>s.close())`;

const joinedOf = ({ address, pid }: TestPod) => ({ address, pid });
const inPod = ({ pid }: TestPod): string => `/proc/${pid}/ns/net`;
const inside = (machine: Machine): string => `/run/netns/${namespaceOf(machine)}`;

/** Leads port 80 at 127.0.0.1 of a machine to a pod, as the table of Services does, and asks there. */
async function askAtLoopback(pod: TestPod): Promise<string> {
  const lead = `type nat hook output priority -99; } ; add rule ip lb o ip daddr 127.0.0.1 tcp dport 80 dnat to ${pod.address}`;
  const hide = 'type nat hook postrouting priority 99; } ; add rule ip lb p ip saddr 127.0.0.0/8 masquerade';
  sh('a', `nft 'add table ip lb; add chain ip lb o { ${lead}; add chain ip lb p { ${hide}'`);
  const answer = await ask(inside('a'), '127.0.0.1');
  sh('a', 'nft delete table ip lb');
  return answer.replace('::ffff:', '');
}

/** Everything of a machine that the network may change. */
function look(machine: Machine): string {
  return sh(
    machine,
    "ip -oneline link | sed 's/^[0-9]*: //; s/ state .*//'; ip route; nft -s list ruleset; ip neigh show nud permanent; iptables -S; cat /proc/sys/net/ipv4/conf/up0/route_localnet",
  );
}

beforeAll(() => {
  const batch = [
    `ip link add br-${tag} type bridge`,
    `ip link set br-${tag} up`,
    ...machines.flatMap((machine) => [
      `ip netns add ${namespaceOf(machine)}`,
      `ip link add v${tag}${machine} type veth peer name up0 netns ${namespaceOf(machine)}`,
      `ip link set v${tag}${machine} master br-${tag} up`,
      `ip -n ${namespaceOf(machine)} link set lo up`,
      `ip -n ${namespaceOf(machine)} link set up0 up`,
      `ip -n ${namespaceOf(machine)} addr add ${addresses[machine]}/24 dev up0`,
    ]),
  ];
  // The bridge is in a namespace of its own: rules of this machine do not see its packets.
  execFileSync('ip', ['netns', 'add', `berth-${tag}-s`]);
  execFileSync('nsenter', [`--net=/run/netns/berth-${tag}-s`, 'sh', '-ec', batch.join('\n')]);
  // As Docker leaves them.
  for (const machine of ['a', 'b'] as const) sh(machine, asDocker);
});
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  for (const name of [...machines, 's']) execFileSync('ip', ['netns', 'delete', `berth-${tag}-${name}`]);
});

describe('the network of two nodes on one link', () => {
  let [atA, alsoAtA, atB]: TestPod[] = [];
  const before = new Map<Machine, string>();

  it('joins pods', async () => {
    for (const machine of ['a', 'b'] as const) {
      before.set(machine, look(machine));
      const network = networkOf(machine);
      await network.start();
      networks.set(machine, network);
    }
    await networks.get('a')!.setNeighbours([neighbourOf('b')]);
    await networks.get('b')!.setNeighbours([neighbourOf('a')]);
    atA = await startPod(networks.get('a')!);
    alsoAtA = await startPod(networks.get('a')!);
    atB = await startPod(networks.get('b')!);
    for (const pod of [atA, alsoAtA, atB]) await serve(inPod(pod));
    for (const machine of ['a', 'b', 'o'] as const) await serve(inside(machine));
    expect([atA.address, alsoAtA.address, atB.address]).toEqual(['10.118.1.2', '10.118.1.3', '10.118.2.2']);
  });

  it.each([
    ['a pod and its neighbour on the node', () => [inPod(atA!), alsoAtA!.address, atA!.address]],
    ['a pod and one on another node', () => [inPod(atA!), atB!.address, atA!.address]],
    ['a pod and its own node', () => [inPod(atA!), addresses.a, atA!.address]],
    ['a pod and another node', () => [inPod(atA!), addresses.b, atA!.address]],
    ['a node and its pod', () => [inside('a'), atA!.address, addresses.a]],
    ['a node and a pod on another', () => [inside('a'), atB!.address, addresses.a]],
    ['a pod and itself', () => [inPod(atA!), atA!.address, atA!.address]],
    ['a pod and the outside, which sees the node', () => [inPod(atB!), addresses.o, addresses.b]],
  ])('speaks between %s', async (_, parts) => {
    const [from = '', to = '', seen] = parts();
    expect((await ask(from, to)).replace('::ffff:', '')).toBe(`${seen} 1`);
  });

  it('answers names at its own address to its pods, to its own programs, and to a server of theirs for one domain', async () => {
    const gateway = '10.118.1.1';
    await startNames('a', gateway);
    const web = 'web.default.svc.cluster.local';
    expect(dig(inPod(atA!), gateway, web)).toBe('10.117.0.9');
    expect(dig(inside('a'), gateway, web)).toBe('10.117.0.9');
    expect(dig(inside('a'), gateway, '-x', '10.117.0.9')).toBe(`${web}.`);
    // As docs/services.md has it.
    const rules = ['--server=/cluster.local/10.118.1.1', '--rev-server=10.117.0.0/16,10.118.1.1'];
    startDnsmasq('a', '--listen-address=127.0.0.1', '--bind-interfaces', '--host-record=www.example.test,192.0.2.1', ...rules);
    for (const [asked, answer] of [
      [[web], '10.117.0.9'],
      [['-x', '10.117.0.9'], `${web}.`],
      [['www.example.test'], '192.0.2.1'],
    ] as const)
      await expect.poll(() => dig(inside('a'), '127.0.0.1', ...asked)).toBe(answer);
  });

  it('says at once that an address has no pod', async () => {
    expect(await ask(inPod(atA!), '10.118.1.9')).toBe('EHOSTUNREACH');
    expect(await ask(inPod(atA!), '10.118.2.9')).toBe('EHOSTUNREACH');
  });

  it('leads the ports of 127.0.0.1 to pods of the node and of others, and lets nothing in that is sent there', async () => {
    expect(await askAtLoopback(atA!)).toMatch(/ 1$/);
    expect(await askAtLoopback(atB!)).toBe(`${addresses.a} 1`);
    // The sender has no such address itself: what it sends there leaves.
    const away = 'ip route del local 127.0.0.0/8 dev lo table local; ip route del local 127.0.0.1 dev lo table local';
    sh('o', `${away}; ip route add 127.0.0.0/8 via ${addresses.a}`);
    expect(await ask(inside('o'), '127.0.0.1')).toBe('timeout');
    sh('o', `ip route del 127.0.0.0/8; ip route add local 127.0.0.0/8 dev lo table local`);
    sh('a', 'echo 0 > /proc/sys/net/ipv4/conf/up0/route_localnet');
    expect(await askAtLoopback(atB!)).not.toMatch(/ 1$/);
    await networks.get('a')!.mend();
    expect(await askAtLoopback(atB!)).toBe(`${addresses.a} 1`);
    expect(networks.get('a')!.opened).toEqual(['up0']);
    warnings.length = 0;
  });

  it('drops what a pod sends with a source address that is not its own', async () => {
    // The kernel takes the stricter of both settings: the one of the pod's link has to suffice.
    sh('a', 'echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter');
    const inA = (...args: string[]): void => void execFileSync('nsenter', [`--net=${inPod(atA!)}`, ...args]);
    for (const address of [alsoAtA!.address, '10.118.9.9']) inA('ip', 'addr', 'add', `${address}/32`, 'dev', 'lo');
    const listener = spawn('nsenter', [`--net=${inside('b')}`, process.execPath, '-e', hear], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(listener);
    let heard = '';
    listener.stdout!.on('data', (data: Buffer) => {
      heard += String(data);
    });
    await expect.poll(() => heard).toBe('up\n');
    // The last one is genuine: when it is there, what was sent before would be too.
    for (const source of [alsoAtA!.address, '10.118.9.9', atA!.address]) inA(process.execPath, '-e', send, addresses.b, source);
    await expect.poll(() => heard).toContain(`from ${atA!.address}\n`);
    expect(heard).toBe(`up\nfrom ${atA!.address}\n`);
  });

  it('is found whole by a check, and what is missing is found missing', async () => {
    const network = networks.get('a')!;
    // Neighbours change what is to be accepted.
    await network.mend();
    const found = await factsOf(network);
    expect(found).toMatchObject({ ...whole, ways: new Map([['10.118.2.1', { dev: 'up0', gateway: addresses.b }]]) });
    expect([...found.routes]).toEqual(expect.arrayContaining(Object.values(ranges)));
    expect([...found.tables]).toContain(network.plan.table);
    const { gatewayLink, table } = network.plan;
    const faults = [
      'iptables -F FORWARD',
      `nft delete table ip ${table}`,
      `ip link delete ${gatewayLink}`,
      `ip route delete ${ranges.b}`,
    ];
    sh('a', ['echo 0 > /proc/sys/net/ipv4/ip_forward', ...faults].join('\n'));
    const broken = await factsOf(network);
    sh('a', 'echo 1 > /proc/sys/net/ipv4/ip_forward; iptables -A FORWARD -j DOCKER-USER');
    expect(broken).toMatchObject({ forwards: false, accepts: false, hasGateway: false, ways: new Map() });
    expect([broken.routes.has(ranges.a), broken.routes.has(ranges.b), broken.tables.has(table)]).toEqual([true, false, false]);
    await network.mend();
    expect(await factsOf(network)).toMatchObject(whole);
    warnings.length = 0;
  });

  it('restores rules and routes that were removed', async () => {
    const network = networks.get('a')!;
    sh(
      'a',
      `nft flush ruleset; ${asDocker}; ip route del 10.118.2.0/28; ip route del unreachable 10.118.1.0/28; ip route del ${alsoAtA!.address}`,
    );
    expect(await ask(inPod(atA!), atB!.address)).not.toBe(`${atA!.address} 1`);
    await network.mend();
    expect(warnings.join('\n')).toMatch(/table[\s\S]*routes[\s\S]*FORWARD/);
    expect(await ask(inPod(atA!), atB!.address)).toMatch(/10\.118\.1\.2 1$/);
    expect(await ask(inPod(atB!), alsoAtA!.address)).toMatch(/10\.118\.2\.2 1$/);
    expect(await ask(inPod(atA!), '10.118.1.9')).toBe('EHOSTUNREACH');
    warnings.length = 0;
    await network.mend();
    expect(warnings).toEqual([]);
  });

  it('looks every 2 s with one process, and checks the whole when something differs or after five looks', async () => {
    const [clock, shell, ending] = [createFakeClock(), createShell(inMachine('a')), new AbortController()];
    const scripts: string[] = [];
    const counted = { run: (script: string) => shell.run(script).finally(() => scripts.push(script)) };
    const network = networkOf('a', { clock, shell: counted });
    await network.start();
    await network.setNeighbours([neighbourOf('b')]);
    const guarding = network.guard(ending.signal);
    const look = async (): Promise<number> => {
      scripts.length = 0;
      await clock.advance(2_000);
      await expect.poll(() => clock.pending).toBe(1);
      return scripts.length;
    };
    await expect.poll(() => clock.pending).toBe(1);
    expect(await look()).toBe(1);
    sh('a', 'ip route del 10.118.2.0/28');
    await look();
    expect(warnings.splice(0).join()).toContain('routes');
    expect(sh('a', 'ip route show 10.118.2.0/28')).not.toBe('');
    sh('a', 'iptables -D FORWARD 2');
    await look();
    expect(warnings.splice(0).join()).toContain('FORWARD');
    sh('a', `nft delete table ip ${tableOf({ dataDir: '/d', nodeName: 'a' })}`);
    for (let looks = 0; looks < 5; looks++) await look();
    expect(warnings.splice(0).join()).toContain('table');
    // Also its rules alone, and the setting that forwards at all.
    sh('a', `nft flush table ip ${tableOf({ dataDir: '/d', nodeName: 'a' })}; echo 0 > /proc/sys/net/ipv4/ip_forward`);
    for (let looks = 0; looks < 5; looks++) await look();
    expect(warnings.splice(0).join()).toMatch(/ip_forward was turned off.*table/);
    expect(sh('a', 'cat /proc/sys/net/ipv4/ip_forward; nft list ruleset | grep -c masquerade')).toMatch(/^1\n[^0]/);
    sh('a', `nft delete table ip ${tableOf({ dataDir: '/d', nodeName: 'a' })}`);
    network.look();
    await expect.poll(() => warnings.splice(0).join()).toContain('table');
    ending.abort();
    await guarding;
  });

  it('looks every 2 s without a process of its own where rules are in nftables, and finds at once what is gone', async () => {
    const [clock, shell, ending] = [createFakeClock(), createShell(inMachine('a')), new AbortController()];
    let scripts = 0;
    const counted = { run: (script: string) => shell.run(script).finally(() => scripts++) };
    const nft = new NftProcess({ prefix: inMachine('a') });
    let asked = 0;
    const run = (line: string) => nft.run(line).finally(() => asked++);
    const network = networkOf('a', { clock, shell: counted, nft: { run } });
    await network.start();
    await network.setNeighbours([neighbourOf('b')]);
    const guarding = network.guard(ending.signal);
    await expect.poll(() => clock.pending).toBe(1);
    /** How many scripts ran, and what was told. */
    const look = async (): Promise<[number, string]> => {
      scripts = 0;
      await clock.advance(2_000);
      await expect.poll(() => clock.pending).toBe(1);
      return [scripts, warnings.splice(0).join()];
    };
    const table = tableOf({ dataDir: '/d', nodeName: 'a' });
    warnings.length = 0;
    asked = 0;
    expect([await look(), await look(), await look()]).toEqual([0, 0, 0].map((count) => [count, '']));
    expect(asked).toBe(3);
    for (const [script, told] of [
      ['iptables -D FORWARD 2', /FORWARD/],
      ['iptables -F FORWARD; iptables -X BERTH-$TAG 2>/dev/null || iptables -F', /FORWARD/],
      ['nft delete table ip filter', /FORWARD/],
      [`nft delete table ip ${table}`, /table/],
      [`nft flush table ip ${table}`, /table/],
      ['echo 0 > /proc/sys/net/ipv4/ip_forward', /ip_forward/],
      ['ip route del 10.118.2.0/28', /routes/],
      ['nft flush ruleset', /table.*FORWARD/],
    ] as const) {
      sh('a', `TAG=$(echo ${table.replace('berth-', '')} | tr a-z A-Z); ${script}`);
      const [, words] = await look();
      expect(words).toMatch(told);
      expect([script, await look()]).toEqual([script, [0, '']]);
    }
    const gatewayLink = gatewayLinkOf({ dataDir: '/d', nodeName: 'a' });
    sh('a', `ip link del ${gatewayLink}`);
    await look();
    expect(sh('a', `ip -oneline address show dev ${gatewayLink}`)).toContain(' 10.118.1.1/32 ');
    // As the machine was for what follows.
    sh('a', asDocker);
    await network.mend();
    ending.abort();
    await guarding;
    nft.close();
    warnings.length = 0;
  });

  it('leads to Services once the ranges are known, without letting go of pods, and restores the way there', async () => {
    const network = networks.get('a')!;
    const gatewayLink = gatewayLinkOf({ dataDir: '/d', nodeName: 'a' });
    const services = (): string => sh('a', 'ip route show 10.117.0.0/16; ip route show 10.116.0.0/16').trim();
    const gateway = (): string => sh('a', `ip -oneline address show dev ${gatewayLink}`);
    await network.setCluster(clusterOf('10.116.0.0/16'));
    expect(services()).toMatch(/^10\.116\.0\.0\/16 dev lo .*src 10\.119\.7\.1$/);
    await network.setCluster(clusterOf('10.117.0.0/16'));
    expect(services()).toMatch(/^10\.117\.0\.0\/16 dev lo .*src 10\.119\.7\.1$/);
    expect(gateway()).toContain(' 10.118.1.1/32 ');
    sh('a', `ip route del 10.117.0.0/16; ip link del ${gatewayLink}`);
    await network.mend();
    expect(services()).toMatch(/^10\.117\.0\.0\/16 dev lo .*src 10\.119\.7\.1$/);
    expect(gateway()).toContain(' 10.118.1.1/32 ');
    expect(await ask(inPod(atA!), atB!.address)).toMatch(/10\.118\.1\.2 1$/);
  });

  it('refuses services at addresses that another link has, and keeps the range before', async () => {
    const network = networks.get('a')!;
    const words =
      "the services' range 10.119.0.0/16 is in use on this machine: up0 has an address of it; choose another range, such as --service-cidr 10.0.0.0/16 or 10.1.0.0/16, free on this machine";
    await expect(network.setCluster(clusterOf('10.119.0.0/16'))).rejects.toThrow(words);
    expect(sh('a', 'ip route show dev lo')).toContain('10.117.0.0/16');
  });

  it('names the link of a node that may be gone with its data, and how to remove it', async () => {
    const link = gatewayLinkOf({ dataDir: '/d', nodeName: 'a' });
    const another = networkOf('a', { owner: { dataDir: '/e', nodeName: 'again' } });
    await expect(another.start()).rejects.toThrow(
      `${link} has an address of it (another node of Berth made it; where that one is gone with its data directory, "ip link delete ${link}; ip route delete unreachable ${ranges.a}" frees the range); choose another range`,
    );
  });

  it('carries a megabyte through a tunnel', async () => {
    const tunnelsOf = (machine: 'a' | 'b'): PodNetwork =>
      networkOf(machine, { choice: 'vxlan', opened: networks.get(machine)!.opened });
    const tunnels = { a: tunnelsOf('a'), b: tunnelsOf('b') };
    for (const network of Object.values(tunnels)) await network.start();
    await tunnels.a.setNeighbours([neighbourOf('b')]);
    expect((await factsOf(tunnels.a)).ways.get('10.118.2.1')?.dev).toBe(tunnels.a.plan.tunnel);
    await tunnels.b.setNeighbours([neighbourOf('a')]);
    expect(sh('a', 'ip route get 10.118.2.2')).toContain('bvx');
    expect(await ask(inPod(atA!), atB!.address, 1_000_000)).toMatch(/10\.118\.1\.2 1000000$/);
    expect(await ask(inside('b'), atA!.address, 1_000_000)).toMatch(/ 1000000$/);
    expect(await askAtLoopback(atB!)).toBe('10.118.1.0 1');
    for (const [name, network] of Object.entries(tunnels)) {
      await network.setCluster(clusterOf('10.117.0.0/16'));
      networks.set(name, network);
    }
  });

  it('gives what the machine sends through a tunnel with another address one that the answer finds', async () => {
    const listener = spawn('nsenter', [`--net=${inPod(atB!)}`, process.execPath, '-e', hear], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(listener);
    let heard = '';
    listener.stdout!.on('data', (data: Buffer) => {
      heard += String(data);
    });
    await expect.poll(() => heard).toBe('up\n');
    sh('a', `ip addr add 10.115.0.1/32 dev up0; ${process.execPath} -e "${send}" ${atB!.address} 10.115.0.1`);
    sh('a', 'ip addr del 10.115.0.1/32 dev up0');
    await expect.poll(() => heard).toBe('up\nfrom 10.118.1.0\n');
    // A pod keeps its own.
    execFileSync('nsenter', [`--net=${inPod(atA!)}`, process.execPath, '-e', send, atB!.address, atA!.address]);
    await expect.poll(() => heard).toContain(`from ${atA!.address}\n`);
  });

  it("lets in frames of the tunnel from nodes alone, with addresses of other nodes' pods alone", async () => {
    const listener = spawn('nsenter', [`--net=${inPod(alsoAtA!)}`, process.execPath, '-e', hear], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(listener);
    let heard = '';
    listener.stdout!.on('data', (data: Buffer) => {
      heard += String(data);
    });
    await expect.poll(() => heard).toBe('up\n');
    const sendFrame = (from: string, source: string): void => {
      const frame = [addresses.a, macOf(addresses.a), source, alsoAtA!.address];
      execFileSync('nsenter', [`--net=${from}`, process.execPath, '-e', forge, ...frame]);
    };
    sendFrame(inPod(atA!), '10.118.2.6');
    sendFrame(inPod(atB!), '10.118.2.6');
    sendFrame(inside('o'), '10.118.2.6');
    sendFrame(inside('b'), atA!.address);
    sendFrame(inside('b'), '10.99.9.9');
    // The one that is genuine, last: when it is there, the others would be too.
    sendFrame(inside('b'), '10.118.2.7');
    await expect.poll(() => heard).toContain('from 10.118.2.7\n');
    expect(heard).toBe('up\nfrom 10.118.2.7\n');
  });

  it('forgets the flows of a pod that is gone, however it went', async () => {
    const network = networks.get('a')!;
    const address = '10.118.1.12';
    const attach = async () => {
      const { pid } = await startAlone();
      await network.links.attach({ address, pid, mtu: 1_400, linkMtu: 1_400 });
      return { pid };
    };
    const flows = (): string => sh('a', `conntrack -L -p udp 2>/dev/null | grep -c ${address} || :`).trim();
    const used = new Set([atA!.address]);
    const range = parseAddressRange(ranges.a);
    const unlink = async () => void sh('a', `ip link delete ${network.links.nameOf(address)}`);
    // The link went with its sandbox, and the next pod is joined, or an agent that starts sweeps.
    for (const leave of [
      async () => unlink().then(attach),
      async () => network.links.detach(address),
      async () => unlink().then(() => network.links.forget(range, used)),
    ]) {
      const { pid } = await attach();
      execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, process.execPath, '-e', send, atB!.address, address]);
      execFileSync('nsenter', [`--net=${inPod(atB!)}`, process.execPath, '-e', send, address, atB!.address]);
      expect(Number(flows())).toBeGreaterThan(0);
      await network.links.forget(range, new Set([...used, address]));
      expect(Number(flows())).toBeGreaterThan(0);
      await leave();
      expect(flows()).toBe('0');
    }
  });

  it('tells which pods are joined, and sweeps links without a sandbox', async () => {
    const network = networks.get('a')!;
    // Restarted: the link is there, and the process has another namespace.
    expect(await network.joined([{ address: atA!.address, pid: (await startAlone()).pid }])).toEqual(new Set());
    expect(await network.joined([joinedOf(atA!), { ...joinedOf(atA!), address: '10.118.1.9' }])).toEqual(new Set([atA!.address]));
    await network.links.attach({ address: atA!.address, pid: alsoAtA!.pid, mtu: 1_400, linkMtu: 1_400 }).then(
      () => expect.fail('a pod has one eth0'),
      (error: Error) => expect(error.message).toMatch(/eth0|exist/i),
    );
    const other = await startPod(network);
    expect(await network.links.sweep(new Set([alsoAtA!.address]))).toEqual([network.links.nameOf(other.address)]);
    expect(await network.joined([joinedOf(other), joinedOf(alsoAtA!)])).toEqual(new Set([alsoAtA!.address]));
    alsoAtA!.process.kill('SIGKILL');
    await network.links.detach(alsoAtA!.address);
    expect(await network.joined([joinedOf(alsoAtA!)])).toEqual(new Set());
  });

  it('leaves the machine as it was, without the flows of its pods', async () => {
    const address = '10.118.1.12';
    const { pid } = await startAlone();
    await networks.get('a')!.links.attach({ address, pid, mtu: 1_400, linkMtu: 1_400 });
    const flows = (): string => sh('a', `conntrack -L -p udp 2>/dev/null | grep -c ${address} || :`).trim();
    execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, process.execPath, '-e', send, atB!.address, address]);
    expect(Number(flows())).toBeGreaterThan(0);
    for (const machine of ['a', 'b'] as const) {
      await networks.get(machine)!.remove();
      expect(look(machine)).toBe(before.get(machine));
    }
    expect(flows()).toBe('0');
  });
});

it.each([
  ['around it', '10.118.0.0/17 via 10.119.7.1', 'there is a route to 10.118.0.0/17 through up0'],
  ['in it', '10.118.1.4/30 via 10.119.7.1', 'there is a route to 10.118.1.4/30 through up0'],
  ['of another agent', 'unreachable 10.118.1.0/28', 'there is a route to 10.118.1.0/28'],
])('refuses a range with a route %s', async (_, route, words) => {
  sh('o', `ip route add ${route}`);
  const network = networkOf('a', { shell: createShell(inMachine('o')), address: addresses.o });
  await expect(network.start()).rejects.toThrow(`the pods' range 10.118.1.0/28 is in use on this machine: ${words}`);
  await expect(network.start()).rejects.toThrow(
    /such as --cluster-cidr 10\.0\.0\.0\/16 or 10\.1\.0\.0\/16, free on this machine$/,
  );
  sh('o', `ip route del ${route}`);
});

it('refuses an address that is on none of the interfaces', async () => {
  await expect(networkOf('a', { address: '10.119.7.99' }).start()).rejects.toThrow('10.119.7.99 is on none');
});
