import { expect, test } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { CallMeters } from './call-meter.ts';

test.each(['Get', 'List', 'Kinds', 'History', 'FindVersion'])('%s is under way as a call that changes nothing', (method) => {
  const meters = new CallMeters(new MetricsRegistry());
  meters.of(`/berth.meta.v1.Objects/${method}`, false).begin();
  expect([meters.reading.value, meters.writing.value]).toEqual([1, 0]);
});

test.each(['Create', 'Patch', 'Delete'])('%s is under way as a call that changes something', (method) => {
  const meters = new CallMeters(new MetricsRegistry());
  meters.of(`/berth.meta.v1.Objects/${method}`, false).begin();
  expect([meters.reading.value, meters.writing.value]).toEqual([0, 1]);
});
