import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { isLocalSocketName, localSocketPath } from '../api/meta/local-socket.ts';
import { ensurePrivateDir } from './pki/files.ts';
import type { Listener } from './rpc/listener/listener.ts';

interface LocalSocketInput {
  readonly dataDir: string;
  /** Where the server listens, with the real port. */
  readonly address: string;
  readonly log: Logger;
}

/**
 * Listens for short commands of the server's own user, which the administrator's token in the data directory
 * authenticates: a program that can read it can read the authority's key, too. What keeps the server from listening is
 * logged: every client can do without.
 */
export async function openLocalSocket(listener: Pick<Listener, 'openLocal'>, input: LocalSocketInput): Promise<void> {
  const { dataDir, address, log } = input;
  const path = localSocketPath(dataDir, address);
  const problem = 'no local socket: commands on this machine take the usual address, and a few milliseconds longer';
  if (path === undefined) return log.info({ dataDir }, `${problem}: the path of the data directory is too long`);
  try {
    await ensurePrivateDir(dirname(path));
    await removeStale(dirname(path));
    await listener.openLocal(path);
  } catch (error) {
    log.warn({ err: error, path }, problem);
  }
}

/** Those of servers that were killed. Only one server runs in a data directory. */
async function removeStale(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter(isLocalSocketName);
  await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
}
