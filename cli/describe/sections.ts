import { annotations as wellKnown } from '../../api/meta/well-known.ts';
import { compareEvents, firstSeenText, lastSeenText } from '../events/event-times.ts';
import { list, type Tree, text, tree } from './json.ts';
import { age, type Lines, pairs, timeText } from './lines.ts';

// What descriptions of several kinds have in common.

export function writeName(object: Tree, lines: Lines): void {
  lines.field('Name', text(object, 'metadata', 'name'));
  if (text(object, 'metadata', 'namespace')) lines.field('Namespace', text(object, 'metadata', 'namespace'));
}

export function writeLabels(object: Tree, lines: Lines): void {
  lines.field('Labels', pairs(tree(object, 'metadata', 'labels')));
  const { [wellKnown.lastApplied]: _, ...annotations } = tree(object, 'metadata', 'annotations');
  lines.field('Annotations', pairs(annotations, ': '));
}

/** Whether and when the object was deleted, and what it still waits for. */
export function writeDeletion(object: Tree, lines: Lines, now: Date): void {
  const deletion = text(object, 'metadata', 'deletionTimestamp');
  if (deletion === '') return;
  const grace = text(object, 'metadata', 'deletionGracePeriodSeconds');
  lines.field('Status', `Terminating (lasts ${age(deletion, now)})`);
  if (grace) lines.field('Termination Grace Period', `${grace}s`);
  const finalizers = list(object, 'metadata', 'finalizers').map(String);
  if (finalizers.length > 0) lines.field('Finalizers', finalizers);
}

/** The object that owns this one and looks after it. */
export function writeController(object: Tree, lines: Lines): void {
  const owner = list(object, 'metadata', 'ownerReferences').find((each) => each.controller === true);
  if (owner) lines.field('Controlled By', `${text(owner, 'kind')}/${text(owner, 'name')}`);
}

/** What is true of the object; times only where they are confirmed periodically. */
export function writeConditions(object: Tree, lines: Lines): void {
  const conditions = list(object, 'status', 'conditions');
  const confirmed = conditions.some((each) => text(each, 'lastHeartbeatTime') !== '');
  lines.table(
    'Conditions',
    ['Type', 'Status', 'LastHeartbeatTime', 'LastTransitionTime', 'Reason', 'Message'],
    conditions.map((each) => [
      text(each, 'type'),
      text(each, 'status'),
      ...['lastHeartbeatTime', 'lastTransitionTime'].map((name) => (confirmed ? timeText(text(each, name)) : '')),
      text(each, 'reason'),
      text(each, 'message'),
    ]),
  );
}

/** What happened to the object, the latest last. */
export function writeEvents(events: readonly Tree[], lines: Lines, now: Date): void {
  lines.table(
    'Events',
    ['Type', 'Reason', 'Age', 'From', 'Message'],
    events.toSorted(compareEvents).map((event) => {
      const count = Number(text(event, 'series', 'count') || text(event, 'count') || '1');
      const since = count > 1 ? ` (x${count} over ${age(firstSeenText(event), now)})` : '';
      const from = text(event, 'source', 'component') || text(event, 'reportingComponent');
      const seen = `${age(lastSeenText(event), now)}${since}`;
      return [text(event, 'type'), text(event, 'reason'), seen, from, text(event, 'message').trim()];
    }),
  );
}
