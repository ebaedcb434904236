import { describe, expect, it } from 'vitest';
import type { Lease } from '../../api/generated/types.ts';
import { whyNoControllers, whyNoScheduler } from './component-statuses.ts';

const now = 1_000_000;
const renewed = (secondsAgo: number, holderIdentity = 'h1'): Lease => ({
  spec: { holderIdentity, leaseDurationSeconds: 10, renewTime: { seconds: now / 1000 - secondsAgo, nanos: 0 } },
});

describe('what the server knows of the process that runs the controllers', () => {
  it.each<[string, Lease | undefined, string | undefined]>([
    ['it has renewed its Lease', renewed(10), undefined],
    ['it is silent', renewed(11), 'h1, which runs the controllers, has been silent for 11 s'],
    ['it has given its Lease back', renewed(1, ''), 'no process runs the controllers'],
    ['there was none yet', undefined, 'no process runs the controllers'],
  ])('%s', (_title, lease, why) => expect(whyNoControllers(lease, now)).toBe(why));
});

it('a scheduler is well while the default one is connected', () => {
  expect(whyNoScheduler(['default-scheduler', 'mine'])).toBeUndefined();
  expect(whyNoScheduler(['mine'])).toBe('no scheduler called "default-scheduler" is connected');
});
