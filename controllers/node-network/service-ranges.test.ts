import { expect, it } from 'vitest';
import type { NodeNetwork, Service } from '../../api/generated/types.ts';
import { serviceRanges } from './service-ranges.ts';

const at = (...clusterIPs: string[]): Service => ({ spec: { clusterIPs } });
const told = (...serviceCIDRs: string[]): NodeNetwork => ({ serviceCIDRs });

it('has the range of before while a Service has an address of it', () => {
  const networks = [told('10.43.0.0/16'), told('10.44.0.0/16', '10.43.0.0/16')];
  expect(serviceRanges('10.44.0.0/16', [at('10.44.0.1'), at('10.43.7.7')], networks)).toEqual(['10.44.0.0/16', '10.43.0.0/16']);
  expect(serviceRanges('10.44.0.0/16', [at('10.44.0.1'), at('None'), {}], networks)).toEqual(['10.44.0.0/16']);
});

it('leaves a range out that the server’s covers, and keeps a larger one for what is beside the server’s', () => {
  expect(serviceRanges('10.32.0.0/12', [at('10.43.7.7')], [told('10.43.0.0/16')])).toEqual(['10.32.0.0/12']);
  expect(serviceRanges('10.43.0.0/20', [at('10.43.99.7')], [told('10.43.0.0/16')])).toEqual(['10.43.0.0/20', '10.43.0.0/16']);
});

it('has no address that no node was told of, and at most 8 ranges besides the server’s', () => {
  expect(serviceRanges('10.44.0.0/16', [at('10.43.7.7')], [told('10.44.0.0/16'), {}])).toEqual(['10.44.0.0/16']);
  const many = Array.from({ length: 10 }, (_, i) => i + 50);
  const found = serviceRanges(
    '10.44.0.0/16',
    many.map((i) => at(`10.${i}.0.1`)),
    many.map((i) => told(`10.${i}.0.0/16`)),
  );
  expect(found).toHaveLength(9);
});
