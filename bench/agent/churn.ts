import { readdirSync } from 'node:fs';
import { atMost, type Figure, median, note } from '../figure.ts';
import { anonymousMegabytes } from '../process-costs.ts';
import { UsageError } from '../usage-error.ts';
import { berthRound } from './rounds.ts';
import { withBerth } from './with-berth.ts';

const defaultMinutes = 30;
const podsAtOnce = 100;
/**
 * What garbage that is not collected yet may differ by between two of a heap's moments,
 * seen over hours of a level heap.
 */
const noiseMegabytes = 8;

interface Moment {
  readonly megabytes: number;
  readonly handles: number;
}

/**
 * Whether the agent grows while pods come and go for half an hour: its second fifth,
 * when everything has been used, against its last.
 */
export async function benchChurn(say: (text: string) => void, option?: string): Promise<Figure[]> {
  const minutes = option === undefined ? defaultMinutes : Number(option);
  if (!(minutes > 0)) throw new UsageError(`churn takes minutes, as in churn=5, not "${option}"`);
  return withBerth([], async (berth, engine) => {
    const pid = berth.agent.pid!;
    const moments: Moment[] = [];
    const until = Date.now() + minutes * 60_000;
    do {
      await berthRound(berth, engine, { count: podsAtOnce });
      const moment = { megabytes: anonymousMegabytes(pid), handles: readdirSync(`/proc/${pid}/fd`).length };
      moments.push(moment);
      say(`${moments.length * podsAtOnce} pods came and went: ${moment.megabytes.toFixed(1)} MB, ${moment.handles} open files`);
    } while (Date.now() < until);
    const fifth = (index: number): Moment[] =>
      moments.slice(Math.floor((moments.length * index) / 5), Math.ceil((moments.length * (index + 1)) / 5));
    const of = (index: number, key: keyof Moment): number => median(fifth(index).map((moment) => moment[key]));
    return [
      note('pods that came and went', moments.length * podsAtOnce, 'pods'),
      note("the agent's anonymous memory at first", of(1, 'megabytes'), 'MB'),
      note("the agent's anonymous memory in the end", of(4, 'megabytes'), 'MB'),
      atMost('growth of its memory', of(4, 'megabytes') - of(1, 'megabytes'), 'MB', noiseMegabytes),
      atMost('growth of its open files', of(4, 'handles') - of(1, 'handles'), 'files', 2),
    ];
  });
}
