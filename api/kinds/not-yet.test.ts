import { expect, it } from 'vitest';
import { kinds } from './index.ts';
import { kindNotYet, notYetReason } from './not-yet.ts';

it.each([
  ['resourceclaims', 'ResourceClaim'],
  ['resourceclaims.resource.k8s.io', 'ResourceClaim'],
  ['ResourceClaim', 'ResourceClaim'],
  ['volumeattributesclasses', 'VolumeAttributesClass'],
  ['ing', undefined],
  ['NetworkPolicy', undefined],
  ['netpol', undefined],
  ['deploy', undefined],
  ['svc', undefined],
  ['jobs.batch', undefined],
  ['fly', undefined],
])('knows that "%s" means %s of Kubernetes', (noun, kind) => expect(kindNotYet(noun)).toBe(kind));

it('says in one line that a kind is not there yet, and nothing of the kinds that Berth has', () => {
  expect(notYetReason('resourceclaims')).toMatch(/^ResourceClaim is not there yet: [^\n]+$/);
  expect(kinds.flatMap((kind) => [kind.kind, kind.plural].flatMap((noun) => notYetReason(noun) ?? []))).toEqual([]);
});
