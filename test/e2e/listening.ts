import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTEN = '0A';

/**
 * Where the network reaches a process, as the kernel tells: "127.0.0.1:7443"; UDP too, which has no state of listening.
 */
export function listeningOf(pid: number): string[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        // Closed meanwhile.
        return [];
      }
    }),
  );
  const rows = (['tcp', 'tcp6', 'udp', 'udp6'] as const).flatMap((protocol) =>
    readFileSync(`/proc/${pid}/net/${protocol}`, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => own.has(columns[9] ?? '') && (protocol.startsWith('udp') || columns[3] === LISTEN))
      .map((columns) => (protocol.startsWith('udp') ? `${protocol} ` : '') + readable(columns[1] ?? '')),
  );
  return [...new Set(rows)].sort();
}

/** The kernel writes words of four bytes in the machine's order, which is little-endian wherever Berth runs. */
function readable(hex: string): string {
  const [address = '', port = ''] = hex.split(':');
  const words = address.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => (word.match(/../g) ?? []).reverse().map((byte) => Number.parseInt(byte, 16)));
  const host = bytes.length === 4 ? bytes.join('.') : `[${Buffer.from(bytes).toString('hex')}]`;
  return `${host}:${Number.parseInt(port, 16)}`;
}
