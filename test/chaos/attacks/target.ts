import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatToken } from '../../../apiserver/authn/tokens.ts';
import { type Client, connect } from '../../../client/index.ts';
import { freePort } from '../../e2e/installation.ts';
import { type BerthProcess, connectAdmin, startServer } from '../processes.ts';
import { createAdministrator } from './administrator.ts';

const MIB = 1024 * 1024;

/** What others notice of an attack. */
export interface Observed {
  /** Of the administrator's questions meanwhile, in milliseconds. */
  readonly medianMs: number;
  readonly worstMs: number;
  /** The most that the server held in memory at any time, in MiB, mapped files of its store included. */
  readonly peakMiB: number;
  readonly seconds: number;
}

/** A server as users start it, in a process of its own, with its default limits and its audit log. */
export interface Target {
  readonly admin: Client;
  readonly server: BerthProcess;
  readonly address: string;
  /** A connection of a known user. */
  as(user: string): Client;
  /**
   * Runs an attack while the administrator goes on asking; rejects when the server ends,
   * or does not answer the administrator.
   */
  observe(attack: () => Promise<void>): Promise<Observed>;
  /** The audit log: all of its files, the oldest first. */
  auditLog(): Promise<string>;
  remove(): Promise<void>;
}

/** `users` are known by a token each, and hold no role. */
export async function createTarget(users: readonly string[], ...flags: string[]): Promise<Target> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-attacks-'));
  const address = `127.0.0.1:${await freePort()}`;
  const first = await startServer(dataDir, address);
  await first.kill();
  const tokens = join(dataDir, 'pki', 'tokens');
  const lines = users.map((user) => formatToken(`token-of-${user}`, { user, groups: [] }));
  await writeFile(tokens, (await readFile(tokens, 'utf8')) + lines.join(''));
  const server = await startServer(dataDir, address, ...flags);
  const ca = await readFile(join(dataDir, 'pki', 'ca.crt'), 'utf8');
  const admin = await connectAdmin(dataDir, address);
  const ended = server.ended.then(() => {
    throw new Error('the server ended');
  });
  ended.catch(() => {});

  const administrator = await createAdministrator(dataDir, address);

  return {
    admin,
    server,
    address,
    as: (user) => connect({ address, ca, token: `token-of-${user}` }),
    async observe(attack) {
      // Begins the kernel's count of the most at once anew (man proc_pid_clear_refs).
      await writeFile(`/proc/${server.pid}/clear_refs`, '5');
      const since = performance.now();
      administrator.begin();
      let times: number[] = [];
      try {
        await Promise.race([attack(), ended]);
      } finally {
        times = await Promise.race([administrator.end(), ended]);
      }
      times.sort((a, b) => a - b);
      const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
      return {
        medianMs: Math.round(times[times.length >> 1] ?? 0),
        worstMs: Math.round(times.at(-1) ?? 0),
        peakMiB: Math.round((Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024) / MIB),
        seconds: Math.round((performance.now() - since) / 1000),
      };
    },
    async auditLog() {
      const folder = join(dataDir, 'logs');
      const age = (name: string): number => Number(/\.(\d+)$/.exec(name)?.[1] ?? 0);
      const names = (await readdir(folder)).filter((name) => name.startsWith('audit.log')).sort((a, b) => age(b) - age(a));
      return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('');
    },
    async remove() {
      administrator.close();
      admin.close();
      await server.kill();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
