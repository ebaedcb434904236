import { type Tree, text } from '../describe/json.ts';
import { compareBirths } from '../printers/row-order.ts';

/** When an event was last seen, whichever of its times says so. */
export function lastSeenText(event: Tree): string {
  return (
    text(event, 'series', 'lastObservedTime') ||
    text(event, 'lastTimestamp') ||
    text(event, 'eventTime') ||
    text(event, 'metadata', 'creationTimestamp')
  );
}

/** When it was seen first. */
export function firstSeenText(event: Tree): string {
  return text(event, 'firstTimestamp') || text(event, 'eventTime') || text(event, 'metadata', 'creationTimestamp');
}

/** The latest last. */
export function compareEvents(a: Tree, b: Tree): number {
  return (
    Date.parse(lastSeenText(a)) - Date.parse(lastSeenText(b)) ||
    compareBirths(text(a, 'metadata', 'name'), text(b, 'metadata', 'name'))
  );
}
