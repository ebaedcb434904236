import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Resolver, type ResolverOptions, startResolver } from '../../agent/names/resolver.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { query, read, service, slice, upstreamAnswer } from '../builders/names.ts';

const run = promisify(execFile);
/** The thread tells its figures once a second; how soon that is seen is up to the load. */
const patience = { timeout: 10_000 };
const local = '127.0.0.1';
const cleanups: (() => Promise<unknown> | unknown)[] = [];
const crowd = Array.from({ length: 200 }, (_, n) => `192.0.2.${n}`);

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** The resolver in its thread, as the agent will run it. */
async function start(options: Partial<ResolverOptions> = {}): Promise<Resolver & { metrics: MetricsRegistry }> {
  const metrics = new MetricsRegistry();
  const resolver = await startResolver({
    metrics,
    address: local,
    port: 0,
    clusterDomain: 'cluster.local',
    clusterCidrs: ['10.43.0.0/16'],
    resolvConf: '',
    ...options,
  });
  cleanups.push(() => resolver.close());
  const services = [service('shop/web', '10.43.0.1'), service('shop/db', 'None')];
  const slices = [slice('shop/db', ['10.42.0.1 db-0', '10.42.0.2 db-1'])];
  resolver.apply([{ kind: 'snapshot', services, slices, pods: [{ namespace: 'shop', name: 'p', addresses: [local] }] }]);
  return { ...resolver, metrics };
}

/** What dig prints in short. */
async function dig(port: number, ...args: readonly string[]): Promise<string[]> {
  const { stdout } = await run('dig', [`@${local}`, '-p', String(port), '+short', '+tries=1', '+time=5', ...args]);
  return stdout.trim().split('\n');
}

/** A real upstream server that knows names below example.test, for a second each. */
async function startDnsmasq(...args: readonly string[]): Promise<{ port: number; child: ChildProcess }> {
  const port = await freePort();
  const fixed = [
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--no-resolv',
    '--no-hosts',
    '--pid-file=',
    '--bind-interfaces',
    '--user=',
  ];
  const own = [`--listen-address=${local}`, `--port=${port}`, '--local-ttl=1', '--host-record=www.example.test,192.0.2.1'];
  const records = crowd.map((address) => `--host-record=crowd.example.test,${address}`);
  const child = spawn('dnsmasq', [...fixed, ...own, ...records, ...args], { stdio: 'ignore' });
  cleanups.push(() => end(child));
  await vi.waitFor(async () => expect(await dig(port, 'www.example.test')).toEqual(['192.0.2.1']), { timeout: 20_000 });
  return { port, child };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, local);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Sends messages over one TCP connection at once; resolves with the answers, or with what came until it was closed. */
async function overTcp(port: number, messages: readonly Buffer[], count = messages.length): Promise<Buffer[]> {
  const socket = connect(port, local);
  socket.write(Buffer.concat(messages.map(framed)));
  return collect(socket, count);
}

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

function collect(socket: Socket, count: number): Promise<Buffer[]> {
  const answers: Buffer[] = [];
  let unread = Buffer.alloc(0);
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => resolve(answers));
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk]);
      while (unread.length >= 2 && unread.length >= 2 + unread.readUInt16BE(0)) {
        answers.push(unread.subarray(2, 2 + unread.readUInt16BE(0)));
        unread = unread.subarray(2 + unread.readUInt16BE(0));
      }
      if (answers.length >= count) socket.destroy();
    });
  });
}

beforeAll(async () => {
  // A clear failure where hack/test did not prepare the machine.
  await run('dig', ['-v']);
  await run('dnsmasq', ['--version']);
});

describe("the resolver's thread", () => {
  it('answers dig over UDP and TCP, and goes on with the last changes while none come', async () => {
    const { port, apply } = await start();
    expect(await dig(port, 'web.shop.svc.cluster.local')).toEqual(['10.43.0.1']);
    expect(await dig(port, '+tcp', 'db-1.db.shop.svc.cluster.local')).toEqual(['10.42.0.2']);
    expect((await dig(port, 'db.shop.svc.cluster.local')).sort()).toEqual(['10.42.0.1', '10.42.0.2']);
    expect(await dig(port, '-x', '10.43.0.1')).toEqual(['web.shop.svc.cluster.local.']);
    apply([{ kind: 'set-service', service: service('shop/web', '10.43.0.9') }]);
    await vi.waitFor(async () => expect(await dig(port, 'web.shop.svc.cluster.local')).toEqual(['10.43.0.9']), patience);
  });

  it('refuses an address that is not there, and a domain that is none, with the reason', async () => {
    await expect(start({ address: '192.0.2.77' })).rejects.toThrow(/192\.0\.2\.77/);
    await expect(start({ clusterDomain: 'a..b' })).rejects.toThrow('"a..b" is no domain');
    await expect(start({ clusterCidrs: ['10.0.0.0/99'] })).rejects.toThrow();
  });

  it('frees its port when it is closed', async () => {
    const first = await start();
    await first.close();
    await expect(first.ended).resolves.toBeUndefined();
    expect((await start({ port: first.port })).port).toBe(first.port);
  });

  it('survives any bytes, over UDP and TCP', async () => {
    const { port, metrics } = await start();
    const socket = createSocket('udp4');
    cleanups.push(() => new Promise<void>((resolve) => socket.close(() => resolve())));
    let state = 1;
    const next = (): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state & 255;
    };
    const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, next));
    for (let n = 0; n < 500; n++) socket.send(bytes(n % 90), port, local);
    for (let n = 0; n < 20; n++) await Promise.race([overTcp(port, [bytes(40 + n)], 1), delay(200)]);
    expect(await dig(port, 'web.shop.svc.cluster.local')).toEqual(['10.43.0.1']);
    expect(formatMetrics(metrics, 'prometheus')).toMatch(/names_dropped_total{reason="malformed"} [1-9]/);
  });
});

describe('names of others', () => {
  it('come from the upstream server, in one round trip for a client with a search path', async () => {
    const { port: upstream } = await startDnsmasq();
    const { port, metrics } = await start({ resolvConf: `nameserver ${local}@${upstream}\n` });
    expect(await dig(port, 'www.example.test')).toEqual(['192.0.2.1']);
    expect(await dig(port, 'www.example.test.shop.svc.cluster.local')).toEqual(['www.example.test.', '192.0.2.1']);
    expect(formatMetrics(metrics, 'prometheus')).toContain('berth_agent_names_answers_total{kind="search",rcode="NOERROR"} 1');
    await vi.waitFor(
      () => expect(formatMetrics(metrics, 'prometheus')).toMatch(/names_upstream_duration_seconds_count [1-9]/),
      patience,
    );
  });

  it('come over TCP where UDP is too small, on both sides', async () => {
    const { port: upstream } = await startDnsmasq();
    const { port } = await start({ resolvConf: `nameserver ${local}@${upstream}\n` });
    expect((await dig(port, 'crowd.example.test')).sort()).toEqual([...crowd].sort());
    expect((await dig(port, '+ignore', 'crowd.example.test')).length).toBeLessThan(80);
  });

  it('are answered with what was known while no server answers', async () => {
    const { port: upstream, child } = await startDnsmasq();
    const { port } = await start({ resolvConf: `nameserver ${local}@${upstream}\n` });
    await dig(port, 'www.example.test');
    await end(child);
    await delay(1100);
    expect(await dig(port, 'www.example.test')).toEqual(['192.0.2.1']);
    const { stdout } = await run('dig', [`@${local}`, '-p', String(port), 'other.example.test']);
    expect(stdout).toContain('SERVFAIL');
  });

  it('fail while there is no way to the server, and the thread goes on', async () => {
    const { port } = await start({ resolvConf: 'nameserver 2001:db8::1\nnameserver fe80::1%nolink\n' });
    const { stdout } = await run('dig', [`@${local}`, '-p', String(port), '+tries=1', '+time=10', 'x.test']);
    expect(stdout).toContain('SERVFAIL');
    expect(await dig(port, 'web.shop.svc.cluster.local')).toEqual(['10.43.0.1']);
  });

  it('are taken from the answer with the right id and question only', async () => {
    const server = createSocket('udp4');
    cleanups.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
    server.bind(0, local);
    await once(server, 'listening');
    const ports = new Set<number>();
    server.on('message', (asked, { port }) => {
      ports.add(port);
      const answer = (data: string): Buffer => upstreamAnswer(asked, { answers: [{ type: 'A', name: 'a.test', ttl: 0, data }] });
      const forged = answer('203.0.113.66');
      forged.writeUInt16BE((asked.readUInt16BE(0) + 1) & 0xffff, 0);
      const other = answer('203.0.113.66');
      other.write('b', 13);
      for (const message of [forged, other, answer('192.0.2.5')]) server.send(message, port, local);
    });
    const { port, metrics } = await start({ resolvConf: `nameserver ${local}@${server.address().port}\n` });
    for (let n = 0; n < 5; n++) expect(await dig(port, 'a.test')).toEqual(['192.0.2.5']);
    expect(ports.size).toBeGreaterThan(4);
    expect(formatMetrics(metrics, 'prometheus')).toContain('names_upstream_total{result="foreign"} 10');
  });

  it('are not asked of a server that asks this resolver, directly or over another', async () => {
    const loops: string[] = [];
    const { port, setResolvConf } = await start({ onLoop: (server) => loops.push(server) });
    const { port: between } = await startDnsmasq(`--server=${local}#${port}`);
    setResolvConf(`nameserver ${local}@${between}\n`);
    await vi.waitFor(() => expect(loops).toEqual([local]), patience);
    const { stdout } = await run('dig', [`@${local}`, '-p', String(port), 'x.other.test']);
    expect(stdout).toContain('SERVFAIL');
    setResolvConf(`nameserver ${local}@${port}\n`);
    await vi.waitFor(() => expect(loops).toEqual([local, local]), patience);
  });
});

describe('bounds of clients', () => {
  it('leave queries over the rate of their source unanswered, and answer again afterwards', async () => {
    const { port, metrics } = await start({ sourceLimits: { perSecond: 50, burst: 20 } });
    const socket = createSocket('udp4');
    cleanups.push(() => new Promise<void>((resolve) => socket.close(() => resolve())));
    let answers = 0;
    socket.on('message', () => answers++);
    for (let n = 0; n < 200; n++) socket.send(query('web.shop.svc.cluster.local', 'A', { id: n }), port, local);
    await vi.waitFor(() => expect(formatMetrics(metrics, 'prometheus')).toMatch(/dropped_total{reason="rate"} [1-9]/), patience);
    await delay(500);
    expect(answers).toBeLessThan(100);
    expect(await dig(port, 'web.shop.svc.cluster.local')).toEqual(['10.43.0.1']);
  });

  it('take many queries of one TCP connection at once, and answer each', async () => {
    const { port } = await start();
    const messages = Array.from({ length: 500 }, (_, id) => query('web.shop.svc.cluster.local', 'A', { id }));
    const answers = await overTcp(port, messages);
    expect(answers.map((answer) => answer.readUInt16BE(0))).toEqual(messages.map((_, id) => id));
    expect(read(answers[0]!).answers).toEqual(['web.shop.svc.cluster.local A 5 10.43.0.1']);
  });

  it('close connections that send too large a message, and those over 32 of one source', async () => {
    const { port } = await start();
    expect(await overTcp(port, [Buffer.alloc(5000)], 1)).toEqual([]);
    const open = Array.from({ length: 40 }, () => connect(port, local));
    cleanups.push(() => open.forEach((socket) => void socket.destroy()));
    let closed = 0;
    for (const socket of open) socket.on('error', () => {}).on('close', () => closed++);
    await vi.waitFor(() => expect(closed).toBe(8), patience);
    for (const socket of open) socket.destroy();
    await vi.waitFor(async () => expect(await dig(port, '+tcp', 'web.shop.svc.cluster.local')).toEqual(['10.43.0.1']), patience);
  });

  it('close a connection that is silent for ten seconds', async () => {
    const { port } = await start();
    const socket = connect(port, local);
    const beganAtMs = performance.now();
    await once(
      socket.on('error', () => {}),
      'close',
    );
    expect(performance.now() - beganAtMs).toBeGreaterThan(9000);
  });
});
