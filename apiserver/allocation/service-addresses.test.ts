import { describe, expect, it } from 'vitest';
import type { IPAddress, ServiceCIDR } from '../../api/generated/types.ts';
import { readyCondition } from '../../api/kinds/service-cidr/fields.ts';
import { decideServiceCidr } from './own-service-cidr.ts';
import { decideAddress } from './service-addresses.ts';

const web = { resource: 'services', namespace: 'default', name: 'web' };
const kept = { 'ipaddress.kubernetes.io/ip-family': 'IPv4', 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' };
const addressOf = (labels: Record<string, string>, parentRef = web): IPAddress => ({ metadata: { labels }, spec: { parentRef } });

describe('the IPAddress of a cluster address', () => {
  it.each<[string, IPAddress | undefined, typeof web | undefined, string]>([
    ['is made for a Service', undefined, web, 'create'],
    ['stays as it is', addressOf(kept), web, 'nothing'],
    ['stays with a group that is empty', addressOf(kept, { ...web, group: '' } as typeof web), web, 'nothing'],
    ['goes with its Service', addressOf(kept), undefined, 'remove'],
    ['is made anew for another Service', addressOf(kept, { ...web, name: 'other' }), web, 'remove'],
    ['gets the labels that it lacks', addressOf({ mine: 'yes' }), web, 'label'],
    ["stays a client's where no Service has the address", addressOf({ mine: 'yes' }), undefined, 'nothing'],
    ['is not there where no Service is', undefined, undefined, 'nothing'],
  ])('%s', (_title, stored, parentRef, step) => expect(decideAddress(stored, parentRef)).toBe(step));
});

describe("the ServiceCIDR of the server's range", () => {
  const range = '10.43.0.0/16';
  const ready = readyCondition({ name: 'kubernetes', creationTimestamp: { seconds: 1 } });
  const stored: ServiceCIDR = { metadata: { name: 'kubernetes' }, spec: { cidrs: [range] }, status: { conditions: [ready] } };
  it.each<[string, ServiceCIDR | undefined, string]>([
    ['is made', undefined, 'create'],
    ['stays', stored, 'nothing'],
    ['is made anew for another range', { ...stored, spec: { cidrs: ['10.44.0.0/16'] } }, 'remove'],
    ['is made anew when something holds its deletion', { ...stored, metadata: { deletionTimestamp: { seconds: 1 } } }, 'remove'],
    ['gets its condition back', { ...stored, status: { conditions: [{ ...ready, status: 'False' }] } }, 'status'],
  ])('%s', (_title, object, step) => expect(decideServiceCidr(object, range)).toBe(step));
});
