import type { Event } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { eventColumns, lastSeen } from './columns.ts';
import { defaultEvent } from './defaults.ts';
import { eventFields } from './fields.ts';
import { validateEvent } from './validate.ts';

export const event = defineKind<Event>()({
  kind: 'Event',
  apiVersion: 'v1',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  namespaced: true,
  message: 'berth.core.v1.Event',
  service: 'berth.core.v1.Events',
  durability: 'relaxed',
  expiresAfter: lastSeen,
  unowned: true,
  hasStatus: false,
  isCreatedByPut: true,
  nameRule: 'subdomain',
  defaults: defaultEvent,
  validate: validateEvent,
  validateUpdate: () => [],
  fields: eventFields,
  warnings: fieldWarnings('berth.core.v1.Event', eventFields),
  selectableFields: {
    'involvedObject.kind': (object) => object.involvedObject?.kind ?? '',
    'involvedObject.namespace': (object) => object.involvedObject?.namespace ?? '',
    'involvedObject.name': (object) => object.involvedObject?.name ?? '',
    'involvedObject.uid': (object) => object.involvedObject?.uid ?? '',
    'involvedObject.apiVersion': (object) => object.involvedObject?.apiVersion ?? '',
    'involvedObject.resourceVersion': (object) => object.involvedObject?.resourceVersion ?? '',
    'involvedObject.fieldPath': (object) => object.involvedObject?.fieldPath ?? '',
    reason: (object) => object.reason ?? '',
    type: (object) => object.type ?? '',
    reportingComponent: (object) => object.reportingComponent ?? '',
    source: (object) => object.source?.component ?? object.reportingComponent ?? '',
  },
  columns: eventColumns,
  shownInOrderOf: 'LAST SEEN',
});
