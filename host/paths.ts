import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where an installation keeps everything: /var/lib/berth for root, a folder in the home directory for others. */
export function defaultDataDir(uid: number | undefined = process.getuid?.()): string {
  return uid === 0 ? '/var/lib/berth' : join(homedir(), '.local', 'share', 'berth');
}

/** What starts what is kept there, for messages. */
export function startCommand(dataDir: string): string {
  return dataDir === defaultDataDir() ? 'berth up' : `berth up --data-dir ${dataDir}`;
}

/** The machine's host name as a node name: lower case, without what a name may not hold. */
export function defaultNodeName(): string {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 63);
  return name || 'node';
}

export const defaultListen = '127.0.0.1:7443';

/** How programs on this machine reach what listens there: an address that means "all of them" is none to connect to. */
export function localAddress(listen: string): string {
  return listen.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:');
}

/** Reads HOST:PORT, an IPv6 address in brackets; undefined for anything else. */
export function parseListen(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** The folders of an installation. */
export function installation(dataDir: string) {
  return { dataDir, pki: join(dataDir, 'pki'), logs: join(dataDir, 'logs'), run: join(dataDir, 'run') } as const;
}

/** A file of the bin/ folder of this package. */
export function launcher(name: 'berth' | 'berth-supervise'): string {
  return fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? `../bin/${name}` : `../../bin/${name}`, import.meta.url));
}
