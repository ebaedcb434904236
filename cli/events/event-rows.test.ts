import { describe, expect, it } from 'vitest';
import type { Event } from '../../api/generated/types.ts';
import { event as eventKind } from '../../api/kinds/event/kind.ts';
import { eventColumns, eventRows } from './event-rows.ts';

const nowMs = Date.UTC(2026, 0, 1, 12);
const secondsAgo = (seconds: number) => ({ seconds: nowMs / 1000 - seconds });
const rowOf = (event: Event) => ({ cells: eventKind.columns.map((column) => column.cell(event, new Date(nowMs))) });
const columns = eventKind.columns.map(({ name, type, priority }) => ({ name, type, priority }));
const about = { involvedObject: { kind: 'Pod', name: 'web' } };
const rows = [
  rowOf({ ...about, type: 'Normal', reason: 'Started', message: 'Started container', lastTimestamp: secondsAgo(90), count: 1 }),
  rowOf({
    ...about,
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting',
    firstTimestamp: secondsAgo(600),
    lastTimestamp: secondsAgo(5),
    count: 12,
  }),
];
const shown = (types: string[]) => eventRows(columns, rows, { types, nowMs }).map((row) => row.cells);

describe('the rows of events', () => {
  it('say when it was seen last, how often and since when', () => {
    expect(eventColumns.map(({ name }) => name)).toEqual(['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE']);
    expect(shown([])).toEqual([
      ['90s', 'Normal', 'Started', 'pod/web', 'Started container'],
      ['5s (x12 over 10m)', 'Warning', 'BackOff', 'pod/web', 'Back-off restarting'],
    ]);
  });

  it('are those of the wanted types only', () => {
    expect(shown(['warning']).map((cells) => cells?.[1])).toEqual(['Warning']);
    expect(shown(['Normal', 'Warning'])).toHaveLength(2);
    expect(shown(['Strange'])).toEqual([]);
  });
});
