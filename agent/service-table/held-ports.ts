import { readFile } from 'node:fs/promises';
import type { HeldPort, Protocol } from './service.ts';

/** States of proc(5)'s net/tcp and net/udp: a socket that listens, a UDP socket that is not connected. */
const listening: Readonly<Record<Protocol, string>> = { TCP: '0A', UDP: '07' };

/** Sockets of one file of /proc/net that receive what is new, of ports that `isWanted`. */
export function parseHeldPorts(text: string, protocol: Protocol, isWanted: (port: number) => boolean): HeldPort[] {
  const held: HeldPort[] = [];
  for (const line of text.split('\n').slice(1)) {
    const [, local, remote, state] = line.trim().split(/\s+/);
    const [hexAddress = '', hexPort = ''] = local?.split(':') ?? [];
    const port = Number.parseInt(hexPort, 16);
    if (state !== listening[protocol] || !/^0+:0000$/.test(remote ?? '') || !isWanted(port)) continue;
    const address = parseAddress(hexAddress);
    if (address !== undefined) held.push({ ...(address !== 'all' && { address }), protocol, port });
  }
  return held;
}

/** Words of 32 bits in the machine's order of bytes, which is little-endian wherever Node.js runs. */
function parseAddress(hex: string): string | 'all' | undefined {
  if (/^0+$/.test(hex)) return 'all';
  const v4 = /^(?:0{16}FFFF0000)?([0-9A-F]{8})$/.exec(hex)?.[1];
  if (v4 === undefined) return undefined;
  return v4
    .match(/../g)!
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.');
}

/** Reads which ports programs hold in the network of a process; a file that is not there (no IPv6) holds none. */
export async function readHeldPorts(pid: number | 'self', ports: ReadonlySet<string>): Promise<HeldPort[]> {
  const files: [string, Protocol][] = [
    ['tcp', 'TCP'],
    ['tcp6', 'TCP'],
    ['udp', 'UDP'],
    ['udp6', 'UDP'],
  ];
  const held = await Promise.all(
    files.map(async ([name, protocol]) => {
      const text = await readFile(`/proc/${pid}/net/${name}`, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      });
      return parseHeldPorts(text, protocol, (port) => ports.has(`${protocol}:${port}`));
    }),
  );
  return held.flat();
}
