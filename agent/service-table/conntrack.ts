import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { UdpFlow } from './udp-flows.ts';

/** The kernel's table of connections, as far as UDP flows of Services need it. */
export interface FlowTable {
  /** Removes the flows that `isStale`; returns how many kinds (destination, answering endpoint) they were. */
  removeUdp(isStale: (flow: UdpFlow) => boolean): Promise<number>;
}

const field = (text: string, name: string, from: number): string | undefined =>
  new RegExp(`(?:^|\\s)${name}=(\\S+)`).exec(text.slice(from))?.[1];

/** One line of `conntrack -L -p udp`; undefined for what is no IPv4 flow. */
export function parseUdpFlow(line: string): UdpFlow | undefined {
  const reply = line.indexOf(' src=', line.indexOf('src=') + 1);
  const [destination, destinationPort] = [field(line, 'dst', 0), field(line, 'dport', 0)];
  const [answering, answeringPort] = [field(line, 'src', reply), field(line, 'sport', reply)];
  if (reply === -1 || !destination?.includes('.') || !answering || !destinationPort || !answeringPort) return undefined;
  return {
    destination,
    destinationPort: Number(destinationPort),
    answering,
    answeringPort: Number(answeringPort),
    replied: !line.includes('[UNREPLIED]'),
  };
}

/** With the program `conntrack` (Debian: conntrack). `prefix` is put before it, such as `ip netns exec NAME`. */
export function createConntrackFlows(prefix: readonly string[] = []): FlowTable {
  const start = (args: readonly string[], output: 'pipe' | 'ignore'): ChildProcess => {
    const [command = 'conntrack', ...rest] = [...prefix, 'conntrack', ...args];
    return spawn(command, rest, { stdio: ['ignore', output, 'pipe'] });
  };
  return {
    async removeUdp(isStale) {
      const child = start(['-L', '-p', 'udp', '-f', 'ipv4'], 'pipe');
      const ended = endOf(child);
      const stale = new Map<string, UdpFlow>();
      const reading = (async () => {
        for await (const line of createInterface({ input: child.stdout! })) {
          const flow = parseUdpFlow(line);
          if (flow !== undefined && isStale(flow)) stale.set(JSON.stringify({ ...flow, replied: true }), flow);
        }
      })();
      await Promise.all([ended, reading]);
      for (const flow of stale.values()) {
        const to = ['-d', flow.destination, '--dport', `${flow.destinationPort}`];
        const from = ['-r', flow.answering, '--reply-port-src', `${flow.answeringPort}`];
        await endOf(start(['-D', '-p', 'udp', ...to, ...from], 'ignore'));
      }
      return stale.size;
    },
  };
}

async function endOf(child: ChildProcess): Promise<void> {
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  const [code] = (await once(child, 'close').catch((error: Error) => {
    throw new Error(`run conntrack: ${error.message}; is the package conntrack installed?`);
  })) as [number | null];
  // It also exits with 1 when the entries to delete have ended by themselves.
  if (code !== 0 && !/\b0 flow entries/.test(said)) throw new Error(`run conntrack: exit ${code}: ${said.trim()}`);
}
