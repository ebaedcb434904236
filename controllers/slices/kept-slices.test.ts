import { expect, it } from 'vitest';
import { managers } from '../../api/meta/service-names.ts';
import { keptSlices } from './kept-slices.ts';

const sliceOf = (labels?: Record<string, string>) => ({ metadata: { namespace: 'shop', ...(labels && { labels }) } });
const service = 'kubernetes.io/service-name';
const manager = 'endpointslice.kubernetes.io/managed-by';

it('finds the service of a slice by its label, only where the manager is the same', () => {
  const index = keptSlices(managers.slices);
  expect(index(sliceOf({ [service]: 'web', [manager]: 'endpointslice-controller.k8s.io' }))).toEqual(['shop/web']);
  expect(index(sliceOf({ [service]: 'web', [manager]: 'endpointslicemirroring-controller.k8s.io' }))).toEqual([]);
  expect(index(sliceOf({ [manager]: 'endpointslice-controller.k8s.io' }))).toEqual([]);
  expect(index(sliceOf({ [service]: 'web' }))).toEqual([]);
  expect(index(sliceOf())).toEqual([]);
  expect(index({})).toEqual([]);
});
