import { expect, it } from 'vitest';
import { kinds } from './index.ts';
import { kindNotYet, notYetReason } from './not-yet.ts';

it.each([
  ['ing', 'Ingress'],
  ['ingresses.networking.k8s.io', 'Ingress'],
  ['IngressClass', 'IngressClass'],
  ['NetworkPolicy', undefined],
  ['netpol', undefined],
  ['deploy', undefined],
  ['svc', undefined],
  ['jobs.batch', undefined],
  ['fly', undefined],
])('knows that "%s" means %s of Kubernetes', (noun, kind) => expect(kindNotYet(noun)).toBe(kind));

it('says in one line that a kind is not there yet, and nothing of the kinds that Berth has', () => {
  expect(notYetReason('ing')).toMatch(/^Ingress is not there yet: [^\n]+$/);
  expect(kinds.flatMap((kind) => [kind.kind, kind.plural].flatMap((noun) => notYetReason(noun) ?? []))).toEqual([]);
});
