import { badRequest } from '../../api/errors/index.ts';
import type { UsageHistory } from '../../api/generated/types.ts';
import { toRfc3339 } from '../../api/meta/time.ts';
import { historyPlots } from './history-plots.ts';

export interface HistoryFlags {
  readonly containers?: boolean | undefined;
  readonly output?: string | undefined;
}

const usualWidth = 80;
/** Wider, a plot has more columns than there are samples. */
const widest = 132;
const narrowest = 30;

/** Prints a history as plots for a terminal, or as JSON for programs. */
export function showHistory(history: UsageHistory, { containers = false, output }: HistoryFlags): void {
  if (output === 'json') return void process.stdout.write(`${JSON.stringify(historyJson(history), undefined, 2)}\n`);
  if ((history.times ?? []).length < 2) {
    process.stderr.write('Measured only once so far: agents do so every 15 s.\n');
    return;
  }
  process.stdout.write(historyPlots(history, { width: terminalWidth(), unicode: showsUnicode(process.env), containers }));
}

export function checkHistoryFlags(name: string | undefined, history: boolean | undefined, flags: HistoryFlags): void {
  if (!history && flags.output !== undefined) throw badRequest('-o is for --history');
  if (history && name === undefined) throw badRequest('--history is of one: name it');
  if (flags.output !== undefined && flags.output !== 'json')
    throw badRequest(`-o does not know "${flags.output}"; it takes json`);
}

function historyJson({ nodeName, times = [], series = [] }: UsageHistory): object {
  return {
    kind: 'UsageHistory',
    nodeName,
    times: times.map((time) => toRfc3339(time)),
    series: series.map(({ container, figure, unit, values = [] }) => ({
      ...(container ? { container } : {}),
      figure,
      unit,
      values: values.map((value) => (Number.isNaN(value) ? null : value)),
    })),
  };
}

function terminalWidth(): number {
  const width = process.stdout.columns ?? Number(process.env.COLUMNS ?? usualWidth);
  return Number.isInteger(width) ? Math.min(widest, Math.max(narrowest, width)) : usualWidth;
}

/** The locale says so; without one a terminal of today does. */
export function showsUnicode({ LC_ALL, LC_CTYPE, LANG }: Readonly<Record<string, string | undefined>>): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || 'C.UTF-8';
  return /utf-?8/i.test(locale);
}
