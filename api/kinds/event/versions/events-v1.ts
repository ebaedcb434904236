import type { FieldViolation } from '../../../errors/api-error.ts';
import { required } from '../../../errors/violations.ts';
import type { Event, EventsEvent } from '../../../generated/types.ts';
import { works } from '../../field-support.ts';
import { metadataFields } from '../../metadata-fields.ts';
import { olderVersion } from '../../older-version.ts';
import { event } from '../kind.ts';

/** By its name in events.k8s.io/v1, the name of a field in v1. All others have the same name in both. */
const names = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
} as const;
const newNames: Readonly<Record<string, string>> = names;
const coreNames: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(names).map(([newer, core]) => [core, newer]),
);

const renamed = (object: object, by: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [by[name] ?? name, value]));

const parts = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/** What Kubernetes requires of new events in this form. The type has a default in the other. */
function validateNew(stored: Event): FieldViolation[] {
  const { eventTime, reportingComponent, reportingInstance, action, reason, type } = stored;
  const said = { eventTime, reportingController: reportingComponent, reportingInstance, action, reason, type };
  const missing = Object.entries(said).filter(([, value]) => value === undefined || value === '');
  return missing.map(([name]) => required(name, 'an event of events.k8s.io/v1 says it'));
}

/** The same events as those of v1, with other names of their fields. */
export const eventsV1Event = olderVersion<Event, EventsEvent>(event, {
  apiVersion: 'events.k8s.io/v1',
  message: 'berth.events.v1.Event',
  fields: {
    ...metadataFields,
    regarding: works,
    note: works,
    reportingController: works,
    reportingInstance: works,
    deprecatedSource: works,
    deprecatedFirstTimestamp: works,
    deprecatedLastTimestamp: works,
    deprecatedCount: works,
    eventTime: works,
    series: works,
    action: works,
    reason: works,
    related: works,
    type: works,
  },
  toStored: (older) => renamed(older, newNames) as Event,
  fromStored: (stored) => renamed(stored, coreNames) as EventsEvent,
  validateNew,
  selectableFields: {
    ...Object.fromEntries(parts.map((part) => [`regarding.${part}`, `involvedObject.${part}`])),
    reportingController: 'reportingComponent',
  },
});
