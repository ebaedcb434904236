import { setTimeout as delay } from 'node:timers/promises';
import { startServer } from '../berth.ts';
import { atMost, type Figure, median, note } from '../figure.ts';
import { anonymousMegabytes } from '../process-costs.ts';

const rounds = 5;
const settleMs = 6_000;
/** In megabytes. */
const mostUnused = 4;

/** What the open door costs a server that nothing uses it of: servers with it and without it, in turns. */
export async function benchMemory(say: (text: string) => void): Promise<Figure[]> {
  const [open, closed]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    closed.push(await settled('--kubernetes-listen', 'off'));
    open.push(await settled('--kubernetes-listen', '127.0.0.1:7555'));
    say(`anonymous memory: ${open.at(-1)!.toFixed(1)} MB, without the door ${closed.at(-1)!.toFixed(1)} MB`);
  }
  return [
    atMost('anonymous memory of the unused door', median(open) - median(closed), 'MB', mostUnused),
    note('anonymous memory of a server with it', median(open), 'MB'),
  ];
}

async function settled(...flags: string[]): Promise<number> {
  const berth = await startServer(...flags);
  try {
    await delay(settleMs);
    return anonymousMegabytes(berth.server.pid!);
  } finally {
    await berth.stop();
  }
}
