import fc from 'fast-check';
import { expect, it } from 'vitest';
import { messageType } from '../../../codec/descriptors.ts';
import { fromJson, toJson } from '../../../codec/json.ts';
import type { Event, EventsEvent } from '../../../generated/types.ts';
import { event } from '../kind.ts';
import { eventsV1Event as version } from './events-v1.ts';

const { toStored, fromStored, validateNew, selectedField } = version.conversion!;
const fieldsOf = (message: string) => messageType(message).fieldsArray.map(({ name }) => name);

const core = {
  metadata: { name: 'web.1', namespace: 'default' },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' },
  reason: 'Killing',
  message: 'Stopping container',
  source: { component: 'kubelet', host: 'n1' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:01:00Z',
  count: 3,
  type: 'Normal',
  eventTime: '2026-01-01T00:00:00.000000Z',
  series: { count: 2, lastObservedTime: '2026-01-01T00:01:00.000000Z' },
  action: 'Kill',
  related: { kind: 'Node', name: 'n1' },
  reportingComponent: 'kubelet',
  reportingInstance: 'n1',
};
const { involvedObject, message, source, firstTimestamp, lastTimestamp, count, reportingComponent, ...same } = core;
const newer = {
  ...same,
  regarding: involvedObject,
  note: message,
  deprecatedSource: source,
  deprecatedFirstTimestamp: firstTimestamp,
  deprecatedLastTimestamp: lastTimestamp,
  deprecatedCount: count,
  reportingController: reportingComponent,
};

it('has a name of its own or the same name for every field of the other version', () => {
  const all = Object.fromEntries(fieldsOf(event.message).map((name) => [name, 1]));
  expect(Object.keys(fromStored(all)).sort()).toEqual(fieldsOf(version.message).sort());
});

it('gives the fields their other names', () => {
  expect(toJson(version, fromStored(fromJson<Event>(event, core)))).toMatchObject(newer);
  expect(toJson(event, toStored(fromJson<EventsEvent>(version, newer)))).toMatchObject(core);
  expect([selectedField('regarding.name'), selectedField('reportingController'), selectedField('type')]).toEqual([
    'involvedObject.name',
    'reportingComponent',
    'type',
  ]);
});

it('loses nothing there and back, in either direction', () => {
  const part = <T extends object>(whole: T) =>
    fc
      .subarray(Object.keys(whole))
      .map((names) => Object.fromEntries(Object.entries(whole).filter(([name]) => names.includes(name))));
  fc.assert(
    fc.property(part(core), part(newer), (one, other) => {
      const [stored, older] = [fromJson<Event>(event, one), fromJson<EventsEvent>(version, other)];
      expect(toStored(fromStored(stored))).toEqual(stored);
      expect(fromStored(toStored(older))).toEqual(older);
    }),
    { seed: 18 },
  );
});

it('requires of a new event what Kubernetes does', () => {
  expect(validateNew(fromJson<Event>(event, core))).toEqual([]);
  expect(validateNew({}).map(({ field }) => field)).toEqual([
    'eventTime',
    'reportingController',
    'reportingInstance',
    'action',
    'reason',
    'type',
  ]);
});
