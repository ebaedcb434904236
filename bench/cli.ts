import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { upsertContext } from '../client/index.ts';
import { launcher, startServer } from './berth.ts';
import { atMost, type Figure, median, note, seconds } from './figure.ts';
import { cpuSecondsOfEndedChildren } from './process-costs.ts';

const rounds = 31;
const pods = 20;

type Name = 'node' | 'call' | 'version' | 'complete' | 'get';

/** The least that Node.js takes to ask the server anything: one call, with what it brings and nothing else. */
const bareCall = `
const { createSecureContext, connect } = require('node:tls');
const http2 = require('node:http2');
const { address, ca, cert, key } = JSON.parse(require('node:fs').readFileSync(process.env.BENCH_ADMIN, 'utf8'));
process.env.SSL_CERT_FILE = '/dev/null';
const secureContext = createSecureContext({ ca, cert, key });
const [host, port] = address.split(':');
const createConnection = () => connect({ host, port, secureContext, ALPNProtocols: ['h2'] });
const session = http2.connect('https://' + address, { createConnection });
const headers = { ':method': 'POST', ':path': '/berth.core.v1.Pods/List', 'content-type': 'application/grpc', te: 'trailers' };
const stream = session.request(headers);
let received = 0;
stream.on('data', (bytes) => (received += bytes.length));
stream.on('close', () => {
  session.destroy();
  if (received === 0) process.exit(1);
});
stream.end(Buffer.alloc(5));
`;

/** How long a command takes, and its share of a processor, in seconds of each round. */
interface Times {
  readonly wall: number[];
  readonly cpu: number[];
}

/**
 * `npm run bench -- cli`: how long commands take from spawn to exit, against a running server with TLS, and how much of
 * a processor, which says more on a busy machine. Bare node is the floor: it, a command that only loads the program, a
 * press of the completion key, a command that asks the server, and a call that bare node makes, take turns, so that a
 * drifting machine hits all of them.
 */
export async function benchCli(say: (text: string) => void): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-bench-cli-'));
  const server = await startServer();
  try {
    const config = join(folder, 'config');
    await upsertContext({ name: 'bench', options: server.admin, use: true }, config);
    for (let index = 0; index < pods; index++) {
      const metadata = { name: `pod-${index}`, namespace: 'default' };
      await server.client.pods.create({ metadata, spec: { containers: [{ name: 'main', image: 'none' }] } });
    }
    const admin = join(folder, 'admin.json');
    writeFileSync(admin, JSON.stringify(server.admin), { mode: 0o600 });
    const times = await measure({ ...userEnvironment(config, join(folder, 'cache')), BENCH_ADMIN: admin });
    const wall = (name: Name): number => median(times[name].wall);
    const [node, version, complete, get] = [wall('node'), wall('version'), wall('complete'), wall('get')];
    const cpu = (name: Name): number => mean(times[name].cpu);
    const ms = (value: number): string => `${Math.round(value * 1000)} ms`;
    say(`berth get pods: ${ms(node)} node, ${ms(version - node)} the program, ${ms(get - version)} the call with its library`);
    return [
      note('node -e 0, p50', node, 's'),
      note('berth version --client, p50', version, 's'),
      note('completion of a type, p50', complete, 's'),
      note('berth get pods, p50', get, 's'),
      note('berth get pods, fastest', Math.min(...times.get.wall), 's'),
      note('node -e 0, processor time', cpu('node'), 's'),
      note('a call that bare node makes, processor time', cpu('call'), 's'),
      note('berth version --client, processor time', cpu('version'), 's'),
      note('completion of a type, processor time', cpu('complete'), 's'),
      note('berth get pods, processor time', cpu('get'), 's'),
      note('a call that bare node makes against bare node, processor time', cpu('call') / cpu('node'), 'x'),
      note('berth get pods against bare node, processor time', cpu('get') / cpu('node'), 'x'),
      note('completion of a type against bare node, processor time', cpu('complete') / cpu('node'), 'x'),
      atMost('berth get pods against bare node', get / node, 'x', 1.6),
      atMost('completion of a type against bare node', complete / node, 'x', 1.4),
    ];
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What users have: this node as the first of the PATH, and no options that make every node slower,
 * as more authorities to trust do.
 */
function userEnvironment(config: string, cache: string): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _authorities, NODE_OPTIONS: _options, ...env } = process.env;
  return { ...env, PATH: [dirname(process.execPath), env.PATH].join(delimiter), BERTH_CONFIG: config, XDG_CACHE_HOME: cache };
}

async function measure(env: NodeJS.ProcessEnv): Promise<Record<Name, Times>> {
  const commands: Record<Name, readonly [string, ...string[]]> = {
    node: [process.execPath, '-e', '0'],
    call: [process.execPath, '--use-openssl-ca', '-e', bareCall],
    version: [launcher, 'version', '--client'],
    complete: [launcher, '__complete', '--', 'get', 'po'],
    get: [launcher, 'get', 'pods'],
  };
  const none = (): Times => ({ wall: [], cpu: [] });
  const times = { node: none(), call: none(), version: none(), complete: none(), get: none() };
  for (let round = -1; round < rounds; round++) {
    for (const name of ['node', 'call', 'version', 'complete', 'get'] as const) {
      const before = cpuSecondsOfEndedChildren();
      const wall = await seconds(async () => run(commands[name], env));
      if (round < 0) continue; // The first round fills the disk's cache, and the completion's.
      times[name].wall.push(wall);
      times[name].cpu.push(cpuSecondsOfEndedChildren() - before);
    }
  }
  return times;
}

/** Of processor time: it is counted in hundredths of a second, and the median of such numbers is one, too. */
function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function run([program, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv): void {
  const { status, stderr, error } = spawnSync(program, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${error?.message ?? stderr}`);
}
