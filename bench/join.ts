import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrapTokenSecret } from '../api/kinds/secret/bootstrap-token.ts';
import { authorityHash } from '../api/meta/authority.ts';
import { launcher, startServer } from './berth.ts';
import { atMost, type Figure, median, note, seconds } from './figure.ts';

const rounds = 5;

/**
 * `npm run bench -- join`: how long it takes from the pasted line to a node that is ready,
 * each time on a new data directory; needs Docker.
 */
export async function benchJoin(say: (text: string) => void): Promise<Figure[]> {
  const server = await startServer();
  try {
    const token = { id: 'bench0', secret: '0123456789abcdef', expiresAt: undefined, description: 'bench', authenticates: true };
    await server.client.secrets.create(bootstrapTokenSecret(token));
    const hash = authorityHash(new X509Certificate(server.admin.ca));
    const line = ['join', server.admin.address, '--token', 'bench0.0123456789abcdef', '--ca-hash', hash];
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      times.push(await joinOnce([...line, '--node-name', `bench-join-${process.pid}-${round}`]));
      say(`joined in ${times.at(-1)?.toFixed(2)} s`);
    }
    return [atMost('join_to_ready_worst', Math.max(...times), 's', 5), note('join_to_ready_median', median(times), 's')];
  } finally {
    await server.stop();
  }
}

async function joinOnce(line: readonly string[]): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-join-'));
  const berth = (...args: readonly string[]): void => {
    const { status } = spawnSync(process.execPath, [launcher, ...args, '--data-dir', dataDir], { stdio: 'ignore' });
    if (status !== 0) throw new Error(`berth ${args[0]} ended with ${status}; run it by hand to see why`);
  };
  try {
    return await seconds(async () => berth(...line, '--detach', '--metrics-address', 'off'));
  } finally {
    berth('down', '--purge', '--yes');
    rmSync(dataDir, { recursive: true, force: true });
  }
}
