import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { upsertContext } from '../client/index.ts';
import { launcher, startServer } from './berth.ts';
import { atMost, type Figure, median, note, seconds } from './figure.ts';

const rounds = 31;
const pods = 20;

/**
 * `npm run bench -- cli`: how long commands take from spawn to exit, against a running server with TLS. Bare node is the floor: it, a command that
 * only loads the program, a press of the completion key and a command that asks the server take turns, so that a drifting machine hits all of them.
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
    const commands = {
      node: ['-e', '0'],
      version: [launcher, 'version', '--client'],
      complete: [launcher, '__complete', '--', 'get', 'po'],
      get: [launcher, 'get', 'pods'],
    };
    const times: Record<keyof typeof commands, number[]> = { node: [], version: [], complete: [], get: [] };
    for (let round = -1; round < rounds; round++) {
      for (const name of ['node', 'version', 'complete', 'get'] as const) {
        const time = await seconds(async () => run(commands[name], config));
        if (round >= 0) times[name].push(time); // The first round fills the disk's cache.
      }
    }
    const [node, version, complete, get] = [median(times.node), median(times.version), median(times.complete), median(times.get)];
    const ms = (value: number): string => `${Math.round(value * 1000)} ms`;
    say(`berth get pods: ${ms(node)} node, ${ms(version - node)} the program, ${ms(get - version)} the call with its library`);
    return [
      note('node -e 0, p50', node, 's'),
      note('berth version --client, p50', version, 's'),
      note('completion of a type, p50', complete, 's'),
      note('berth get pods, p50', get, 's'),
      note('berth get pods, fastest', Math.min(...times.get), 's'),
      atMost('berth get pods against bare node', get / node, 'x', 1.6),
      atMost('completion of a type against bare node', complete / node, 'x', 1.4),
    ];
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[], config: string): void {
  const { status, stderr } = spawnSync(process.execPath, args, {
    env: { ...process.env, BERTH_CONFIG: config },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
}
