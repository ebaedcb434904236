import { expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import { podSelectorOf } from './pod-selector.ts';

const matchLabels = { app: 'web' };

it.each([
  [
    'Deployment',
    { matchLabels, matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }] },
    'app=web,tier in (a,b)',
  ],
  ['Job', { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } }, 'batch.kubernetes.io/controller-uid=u'],
  ['ReplicationController', { b: '2', a: '1' }, 'a=1,b=2'],
  ['Service', { app: 'web' }, 'app=web'],
] as const)('reads which pods a %s has', (kind, selector, text) =>
  expect(podSelectorOf(kindNamed(kind), { spec: { selector } })).toBe(text),
);

it.each([
  ['Service', {}, 'this service has no selector, and so no pods of its own'],
  ['CronJob', {}, 'a cronjob has no pods of its own, but jobs that have: name one of them, job/NAME'],
  ['ConfigMap', {}, 'a configmap has no pods: name a pod, or a deployment'],
] as const)('refuses a %s without pods', (kind, spec, message) =>
  expect(() => podSelectorOf(kindNamed(kind), { spec })).toThrow(message),
);
