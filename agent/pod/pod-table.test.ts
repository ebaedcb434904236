import { expect, it } from 'vitest';
import { createRecord } from './pod-record.ts';
import { PodTable } from './pod-table.ts';

it('a pod that left stays known until a list of containers was requested after it', () => {
  const table = new PodTable();
  table.set(createRecord('u', undefined));
  table.drop('u', 1_000);
  expect([table.get('u'), [...table.all()]]).toEqual([undefined, []]);
  const isKnown = (listedAtMs: number) => {
    table.forgetLeft(listedAtMs);
    return table.isKnown('u');
  };
  expect([isKnown(999), isKnown(1_000), isKnown(1_001)]).toEqual([true, true, false]);
});
