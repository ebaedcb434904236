import { describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { allocationFromStatus, allocationOf, asksForOther, decideResize, withAllocation } from './allocation.ts';

const gibi = 1024 ** 3;
const allocatable = { cpu: 4000, memory: 8 * gibi };
const sized = (cpu: string, memory: string) => pod('web').requests({ cpu, memory }).build();
const quantities = (cpu: string, memory: string) => ({ cpu: { string: cpu }, memory: { string: memory } });

describe('decideResize', () => {
  it.each([
    ['fits beside the others', sized('2', '2Gi'), [sized('2', '1Gi')], undefined],
    [
      'is infeasible when the node never has so much',
      sized('5', '1Gi'),
      [],
      { reason: 'Infeasible', message: "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000" },
    ],
    [
      'is deferred when others hold the room',
      sized('1', '6Gi'),
      [sized('1', '3Gi')],
      {
        reason: 'Deferred',
        message: `Node didn't have enough resource: memory, requested: ${6 * gibi}, used: ${3 * gibi}, capacity: ${8 * gibi}`,
      },
    ],
    [
      'fits when it asks for no more than it has, however full the node is',
      sized('500m', '1Gi'),
      [sized('16', '32Gi')],
      undefined,
    ],
  ])('a size %s', (_what, wanted, others, expected) => {
    expect(decideResize({ pod: wanted, before: sized('1', '1Gi'), others, allocatable })).toEqual(expected);
  });
});

describe('an allocation', () => {
  it('is the spec while nothing was told, and puts the size that was given into the pod while another is asked for', () => {
    const before = sized('1', '1Gi');
    const allocation = allocationFromStatus(before);
    expect(allocation).toEqual(allocationOf(before));
    expect(withAllocation(before, allocation)).toBe(before);
    const asked = sized('2', '1Gi');
    expect(asksForOther(asked, allocation)).toBe(true);
    expect(withAllocation(asked, allocation)).toEqual(before);
    expect(asksForOther(sized('1000m', '1024Mi'), allocation)).toBe(false);
  });

  it('is what an earlier agent told, with the limits that are in force', () => {
    const resources = { requests: quantities('1', '1Gi'), limits: quantities('3', '3Gi') };
    const told = { name: 'main', allocatedResources: quantities('2', '2Gi'), resources };
    const asked = pod('web').requests({ cpu: '4', memory: '4Gi' }).limits({ cpu: '4', memory: '4Gi' });
    expect(allocationFromStatus(asked.status({ containerStatuses: [told] }).build())).toEqual(
      new Map([['main', { requests: quantities('2', '2Gi'), limits: quantities('3', '3Gi') }]]),
    );
  });
});
