import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { localSocketPath } from '../api/meta/local-socket.ts';
import { upsertContext } from '../client/index.ts';
import { launcher, startServer } from './berth.ts';
import { atMost, type Figure, mean, median, note, seconds } from './figure.ts';
import { cpuSecondsOfEndedChildren } from './process-costs.ts';

const rounds = 31;
const pods = 20;

type Name = 'node' | 'call' | 'version' | 'first' | 'again' | 'get' | 'json';

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

const what: Readonly<Record<Name, string>> = {
  node: 'node -e 0',
  call: 'a call that bare node makes',
  version: 'berth version --client',
  first: 'completion of a type, the first press',
  again: 'completion of a type, pressed again',
  get: 'berth get pods',
  json: 'berth get pods -o json',
};
const names = Object.keys(what) as Name[];

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
    const socket = localSocketPath(server.dataDir, server.admin.address);
    await upsertContext({ name: 'bench', options: server.admin, socket, use: true }, config);
    for (let index = 0; index < pods; index++) {
      const metadata = { name: `pod-${index}`, namespace: 'default' };
      await server.client.pods.create({ metadata, spec: { containers: [{ name: 'main', image: 'none' }] } });
    }
    const admin = join(folder, 'admin.json');
    writeFileSync(admin, JSON.stringify(server.admin), { mode: 0o600 });
    const cache = join(folder, 'cache');
    const times = await measure({ ...userEnvironment(config, cache), BENCH_ADMIN: admin }, cache);
    const wall = (name: Name): number => median(times[name].wall);
    const [node, again, get] = [wall('node'), wall('again'), wall('get')];
    // It is counted in hundredths of a second, and the median of such numbers is one, too.
    const cpu = (name: Name): number => mean(times[name].cpu);
    const ms = (value: number): string => `${Math.round(value * 1000)} ms`;
    say(`berth get pods: ${ms(node)} node, ${ms(get - node)} the rest; ${ms(wall('json') - node)} with the whole program`);
    const figures = names.flatMap((name) => [
      note(`${what[name]}, p50`, wall(name), 's'),
      note(`${what[name]}, processor time`, cpu(name), 's'),
      ...(name === 'node' ? [] : [note(`${what[name]} against bare node, processor time`, cpu(name) / cpu('node'), 'x')]),
    ]);
    return [
      ...figures,
      note('berth get pods, fastest', Math.min(...times.get.wall), 's'),
      atMost('berth get pods against bare node', get / node, 'x', 1.6),
      atMost('completion of a type, pressed again, against bare node', again / node, 'x', 1.4),
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

async function measure(env: NodeJS.ProcessEnv, cache: string): Promise<Record<Name, Times>> {
  const commands: Record<Name, readonly [string, ...string[]]> = {
    node: [process.execPath, '-e', '0'],
    call: [process.execPath, '--use-openssl-ca', '-e', bareCall],
    version: [launcher, 'version', '--client'],
    first: [launcher, '__complete', '--', 'get', 'po'],
    again: [launcher, '__complete', '--', 'get', 'po'],
    get: [launcher, 'get', 'pods'],
    json: [launcher, 'get', 'pods', '-o', 'json'],
  };
  const none = (): Times => ({ wall: [], cpu: [] });
  const times = Object.fromEntries(names.map((name) => [name, none()])) as Record<Name, Times>;
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      // The kinds of users are kept, as they are for ten minutes; what was answered is not.
      if (name === 'first') rmSync(join(cache, 'berth', 'answers.json'), { force: true });
      const before = cpuSecondsOfEndedChildren();
      const wall = await seconds(async () => run(commands[name], env));
      if (round < 0) continue; // The first round fills the disk's cache, and the completion's.
      times[name].wall.push(wall);
      times[name].cpu.push(cpuSecondsOfEndedChildren() - before);
    }
  }
  return times;
}

function run([program, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv): void {
  const { status, stderr, error } = spawnSync(program, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${error?.message ?? stderr}`);
}
