import type { UsageHistory, UsageSeries } from '../../api/generated/types.ts';
import { toMillis } from '../../api/meta/time.ts';
import { plotArea, plotColumns, spread } from '../printers/plot.ts';
import { visible } from '../printers/visible.ts';
import { cpuText, memoryText } from './usage.ts';

export interface HistoryPlotOptions {
  readonly width: number;
  readonly unicode: boolean;
  /** A plot for each container, not for all of them together. */
  readonly containers: boolean;
}

interface Line {
  readonly title: string;
  readonly unit: string;
  readonly values: readonly number[];
}

const titles: Readonly<Record<string, string>> = {
  cpu: 'CPU(cores)',
  memory: 'MEMORY(bytes)',
  networkReceive: 'NETWORK RECEIVED(bytes/s)',
  networkTransmit: 'NETWORK SENT(bytes/s)',
  diskRead: 'DISK READ(bytes/s)',
  diskWrite: 'DISK WRITTEN(bytes/s)',
  cpuThrottled: 'CPU HELD BACK BY ITS LIMIT(%)',
  cpuPressure: 'WAITING FOR CPU(% of time)',
  memoryPressure: 'WAITING FOR MEMORY(% of time)',
  ioPressure: 'WAITING FOR DISKS(% of time)',
};
/** Shown even when nothing happened. */
const always = ['cpu', 'memory'];
const plotHeight = 4;
const labelWidth = 7;

/** The plots of a history, one below the other; what stayed 0 all the time is left out. Pure. */
export function historyPlots(history: UsageHistory, options: HistoryPlotOptions): string {
  const times = (history.times ?? []).map(toMillis);
  const blocks = linesOf(history, options).map((line) => plotBlock(line, times, options));
  return blocks.map((block) => `${block.join('\n')}\n`).join('\n');
}

function linesOf({ series = [] }: UsageHistory, { containers }: HistoryPlotOptions): Line[] {
  const groups = new Map<string, UsageSeries[]>();
  for (const each of series) {
    const key = `${containers ? (each.container ?? '') : ''}/${each.figure}`;
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].flatMap((group) => {
    const [{ figure = '', container = '', unit = '' } = {}] = group;
    const values = unit === 'ratio' ? highest(group) : summed(group);
    const quiet = values.every((value) => Number.isNaN(value) || value === 0);
    if (quiet && !always.includes(figure)) return [];
    const whose = containers && container !== '' ? `${visible(container)}: ` : '';
    return [{ title: `${whose}${titles[figure] ?? figure}`, unit, values }];
  });
}

function combined(group: readonly UsageSeries[], combine: (known: number[]) => number): number[] {
  const length = group[0]?.values?.length ?? 0;
  return Array.from({ length }, (_, i) => {
    const known = group.map(({ values = [] }) => values[i] ?? Number.NaN).filter((value) => !Number.isNaN(value));
    return known.length === 0 ? Number.NaN : combine(known);
  });
}

const summed = (group: readonly UsageSeries[]): number[] =>
  combined(group, (known) => known.reduce((sum, value) => sum + value, 0));
/** Parts of a time cannot be added up: of several containers the one that waits most. */
const highest = (group: readonly UsageSeries[]): number[] => combined(group, (known) => Math.max(...known));

function plotBlock({ title, unit, values }: Line, times: readonly number[], { width, unicode }: HistoryPlotOptions): string[] {
  const known = values.filter((value) => !Number.isNaN(value));
  const most = Math.max(0, ...known);
  const mean = known.length === 0 ? Number.NaN : known.reduce((sum, value) => sum + value, 0) / known.length;
  const now = values.at(-1) ?? Number.NaN;
  const text = (value: number): string => valueText(value, unit);
  const options = { width, height: plotHeight, labelWidth, unicode };
  const columns = spread(times, values, plotColumns(options));
  return [
    `${title}   now ${text(now)}, mean ${text(mean)}, most ${text(most)}`,
    ...plotArea(columns, { ...options, top: most, labels: [text(most), '0'] }),
    timeAxis(times, width),
  ];
}

function valueText(value: number, unit: string): string {
  if (Number.isNaN(value)) return '-';
  if (unit === 'cores') return cpuText(value * 1000);
  if (unit === 'ratio') return `${Number((value * 100).toPrecision(2))}%`;
  return value < 1024 * 1024 ? smallBytes(value) : memoryText(value);
}

function smallBytes(value: number): string {
  return value < 1024 ? String(Math.round(value)) : `${Math.round(value / 1024)}Ki`;
}

/** The first and the last moment below a plot, in local time. */
function timeAxis(times: readonly number[], width: number): string {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return '';
  const room = Math.max(0, width - labelWidth - 2);
  const [left, right] = [clockText(first), clockText(last)];
  const gap = Math.max(1, room - left.length - right.length);
  return `${' '.repeat(labelWidth + 2)}${left}${' '.repeat(gap)}${right}`;
}

function clockText(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
