import { lstatSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { localSocketName } from '../../api/meta/local-socket.ts';
import type { ConnectOptions } from './connect-options.ts';

/** A way to a server of this machine that needs no TLS. */
export interface LocalSocket {
  readonly path: string;
  /** The administrator's. */
  readonly token: string;
}

/**
 * The socket that a context names, where it is safe to use in place of its address and its certificate: it is this
 * user's own, it is that address's, and the data directory that it stands in has the context's authority and, as its
 * administrator's, the context's certificate. The administrator's token there is the same user. Undefined otherwise:
 * then TLS does it.
 */
export function findLocalSocket(
  path: string | undefined,
  { address, ca, cert, token }: Pick<ConnectOptions, 'address' | 'ca' | 'cert' | 'token'>,
  self: number | undefined = process.getuid?.(),
): LocalSocket | undefined {
  if (path === undefined || cert === undefined || token !== undefined || self === undefined) return undefined;
  if (basename(path) !== localSocketName(address)) return undefined;
  const folder = dirname(path);
  const read = (name: string): string => readFileSync(join(dirname(folder), 'pki', name), 'utf8');
  try {
    const [own, socket] = [lstatSync(folder), lstatSync(path)];
    // Another user who may write to the folder could put another socket there.
    if (own.uid !== self || (own.mode & 0o022) !== 0 || socket.uid !== self || !socket.isSocket()) return undefined;
    return read('ca.crt') === ca && read('admin.crt') === cert ? { path, token: read('admin.token').trim() } : undefined;
  } catch {
    // The server is away, or somewhere else.
    return undefined;
  }
}
