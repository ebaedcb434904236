import { describe, expect, it } from 'vitest';
import type { IPAddress, ParentReference, ServiceCIDR } from '../generated/types.ts';
import { kindNamed } from './index.ts';
import { validateMetadata } from './metadata.ts';

const addresses = kindNamed('IPAddress');
const ranges = kindNamed('ServiceCIDR');
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const parentRef: ParentReference = { resource: 'services', namespace: 'default', name: 'web' };
const addressOf = (parent?: ParentReference): IPAddress => ({ spec: parent ? { parentRef: parent } : {} });
const rangeOf = (...cidrs: string[]): ServiceCIDR => ({ metadata: { name: 'more' }, spec: { cidrs } });
const cells = (columns: readonly { name: string; cell(object: never, now: Date): string }[], object: object) =>
  Object.fromEntries(columns.map(({ name, cell }) => [name, cell(object as never, new Date(0))]));

describe('an IPAddress', () => {
  it.each<[string, IPAddress, string[]]>([
    ['a parent', addressOf(parentRef), []],
    ['a parent of another group and no namespace', addressOf({ group: 'example.com', resource: 'gates', name: 'a' }), []],
    ['no parent', addressOf(), ['spec.parentRef']],
    ['a parent without resource and name', addressOf({}), ['spec.parentRef.resource', 'spec.parentRef.name']],
    ['a group that is none', addressOf({ ...parentRef, group: 'A' }), ['spec.parentRef.group']],
    ['a namespace that is none', addressOf({ ...parentRef, namespace: 'a/b' }), ['spec.parentRef.namespace']],
  ])('is judged when it has %s', (_title, object, expected) => expect(fields(addresses.validate(object))).toEqual(expected));

  it.each([
    ['10.43.0.7', undefined],
    ['2001:db8::1', undefined],
    ['10.43.0.07', 'must be an IP address'],
    ['web', 'must be an IP address'],
    ['10.43.0.0/16', 'must be an IP address'],
    ['2001:DB8:0::1', 'must be written as "2001:db8::1"'],
    ['::ffff:10.43.0.7', 'must be written as "10.43.0.7"'],
  ])('may be called %s: %s', (name, why) => {
    const found = validateMetadata(addresses, { name });
    expect(found.map(({ description }) => description)).toEqual(why === undefined ? [] : [expect.stringContaining(why)]);
  });

  it('is given no generated name', () =>
    expect(fields(validateMetadata(addresses, { name: '10.0.0.1', generateName: '10.0.0.' }))).toEqual([
      'metadata.generateName',
    ]));

  it('keeps its parent', () =>
    expect(fields(addresses.validateUpdate(addressOf({ ...parentRef, name: 'other' }), addressOf(parentRef)))).toEqual([
      'spec.parentRef',
    ]));

  it('shows its parent', () => {
    expect(cells(addresses.columns, addressOf(parentRef)).PARENTREF).toBe('services/default/web');
    const gate = { group: 'example.com', resource: 'gates', name: 'a' };
    expect(cells(addresses.columns, addressOf(gate)).PARENTREF).toBe('gates.example.com/a');
  });
});

describe('a ServiceCIDR', () => {
  it.each<[string, ServiceCIDR, string[]]>([
    ['a range', rangeOf('10.44.0.0/16'), []],
    ['a range of each family', rangeOf('fd00::/64', '10.44.0.0/16'), []],
    ['none', rangeOf(), ['spec.cidrs']],
    ['three', rangeOf('10.44.0.0/16', 'fd00::/64', 'fd01::/64'), ['spec.cidrs']],
    ['two of one family', rangeOf('10.44.0.0/16', '10.45.0.0/16'), ['spec.cidrs']],
    ['a text that is no range', rangeOf('10.44.0.0'), ['spec.cidrs[0]']],
    ['a range that is not of a network', rangeOf('10.44.0.1/16'), ['spec.cidrs[0]']],
    ['a range that is not in its usual form', rangeOf('FD00:0::/64'), ['spec.cidrs[0]']],
  ])('is judged when it has %s', (_title, object, expected) => expect(fields(ranges.validate(object))).toEqual(expected));

  it('keeps its ranges', () =>
    expect(fields(ranges.validateUpdate(rangeOf('10.45.0.0/16'), rangeOf('10.44.0.0/16')))).toEqual(['spec.cidrs']));

  it('says from its creation on whether Services get addresses of it', () => {
    const statusOf = (name: string) => {
      const object: ServiceCIDR = { metadata: { name, creationTimestamp: { seconds: 7, nanos: 0 } }, spec: {} };
      ranges.lifecycle?.prepareForCreate?.(object);
      return object.status?.conditions;
    };
    expect(statusOf('kubernetes')).toMatchObject([{ type: 'Ready', status: 'True', lastTransitionTime: { seconds: 7 } }]);
    expect(statusOf('more')).toMatchObject([{ type: 'Ready', status: 'False', reason: 'NotInUse' }]);
  });

  it("warns unless it is the server's own", () => {
    expect(ranges.warnings!(rangeOf('10.44.0.0/16'))).toEqual([expect.stringContaining('--service-cidr')]);
    expect(ranges.warnings!({ ...rangeOf('10.43.0.0/16'), metadata: { name: 'kubernetes' } })).toEqual([]);
  });

  it('shows its ranges', () =>
    expect(cells(ranges.columns, rangeOf('10.44.0.0/16', 'fd00::/64')).CIDRS).toBe('10.44.0.0/16,fd00::/64'));
});
