import type { Event, Timestamp } from '../../generated/types.ts';
import { dateCell, nameOf, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** When the event was last seen, whichever of its times says so. */
export function lastSeen(event: Event): Timestamp | undefined {
  return event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata?.creationTimestamp;
}

function firstSeen(event: Event): Timestamp | undefined {
  return event.firstTimestamp ?? event.eventTime ?? event.metadata?.creationTimestamp;
}

/** "pod/web". */
function objectCell(event: Event): string {
  const { kind = '', name = '' } = event.involvedObject ?? {};
  return `${kind.toLowerCase()}/${name}`;
}

function sourceCell(event: Event): string {
  const { component = event.reportingComponent, host = event.reportingInstance } = event.source ?? {};
  return [component, host].filter((part) => part !== undefined && part !== '').join(', ');
}

export const eventColumns: readonly Column<Event>[] = [
  { name: 'LAST SEEN', type: 'date', priority: 0, cell: (event) => dateCell(lastSeen(event)) },
  textColumn('TYPE', (event) => event.type ?? ''),
  textColumn('REASON', (event) => event.reason ?? ''),
  textColumn('OBJECT', objectCell),
  textColumn('SUBOBJECT', (event) => event.involvedObject?.fieldPath ?? '', 1),
  textColumn('SOURCE', sourceCell, 1),
  textColumn('MESSAGE', (event) => (event.message ?? '').trim()),
  { name: 'FIRST SEEN', type: 'date', priority: 1, cell: (event) => dateCell(firstSeen(event)) },
  { name: 'COUNT', type: 'integer', priority: 1, cell: (event) => String(event.series?.count ?? event.count ?? 1) },
  textColumn('NAME', nameOf, 1),
];
