import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort, run } from './installation.ts';

/** Debian's docker-registry, where "ann" logs in with "right". */
export interface DebianRegistry {
  /** "127.0.0.1:PORT". */
  readonly address: string;
  /**
   * Pushes an image of this machine under a name in this registry, and takes the name away again. Returns its digest.
   */
  push(image: string, name: string): Promise<string>;
  stop(): Promise<void>;
}

export const user = { name: 'ann', password: 'right' };

export async function startDebianRegistry(): Promise<DebianRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-registry-'));
  const address = `127.0.0.1:${await freePort()}`;
  const { stdout } = await run('htpasswd', ['-Bbn', user.name, user.password]);
  writeFileSync(join(folder, 'htpasswd'), stdout);
  const config = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: address },
    auth: { htpasswd: { realm: 'test', path: join(folder, 'htpasswd') } },
  };
  // JSON is YAML too.
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(config));
  const server: ChildProcess = spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: 'ignore' });
  await eventually(
    'the registry answers',
    async () => (await fetch(`http://${address}/v2/`).catch(() => undefined))?.status === 401 || undefined,
  );
  const docker = async (...args: string[]): Promise<string> => {
    const { code, stdout: out, stderr } = await run('docker', ['--config', join(folder, 'login'), ...args]);
    if (code !== 0) throw new Error(`docker ${args[0]}: ${stderr}`);
    return out;
  };
  await docker('login', '-u', user.name, '-p', user.password, address);
  return {
    address,
    async push(image, name) {
      const reference = `${address}/${name}`;
      await docker('tag', image, reference);
      const out = await docker('push', reference);
      await docker('rmi', reference);
      return /digest: (sha256:[0-9a-f]{64})/.exec(out)?.[1] ?? '';
    },
    async stop() {
      server.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
