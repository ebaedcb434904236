import { type Tree, text } from '../describe/json.ts';

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
