import { describe, expect, it } from 'vitest';
import type { PersistentVolumeClaim, Pod, PodSpec, Quantity, ResourceQuota, ResourceQuotaSpec } from '../../generated/types.ts';
import { kindNamed } from '../index.ts';
import { counted, excess, lackingMessage, lacksOf, quotaRules } from './quota-rules.ts';
import { type QuotaShare, quotaShare } from './quota-share.ts';

const q = (texts: Record<string, string>): Record<string, Quantity> =>
  Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));
const quota = (hard: Record<string, string>, scopes: ResourceQuotaSpec = {}): ResourceQuota => ({
  metadata: { name: 'compute' },
  spec: { ...scopes, hard: q(hard) },
});
const pod = (spec: PodSpec): Pod => ({ spec: { containers: [{ name: 'c' }], ...spec } });
const shareOf = (spec: PodSpec): QuotaShare => quotaShare(kindNamed('Pod'), pod(spec), 0);
const withCpu = (cpu: string): PodSpec => ({ containers: [{ name: 'c', resources: { requests: q({ cpu }) } }] });
const elsewhere: PodSpec = {
  affinity: {
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', namespaces: ['other'] }] },
  },
};

describe('a pod counts against a quota of the scope', () => {
  const expression = (scopeName: string, operator: string, ...values: string[]): ResourceQuotaSpec => ({
    scopeSelector: { matchExpressions: [{ scopeName, operator, values }] },
  });
  it.each<[string, ResourceQuotaSpec, PodSpec, boolean]>([
    ['none', {}, {}, true],
    ['Terminating', { scopes: ['Terminating'] }, { activeDeadlineSeconds: 5 }, true],
    ['Terminating, without a deadline', { scopes: ['Terminating'] }, {}, false],
    ['NotTerminating', { scopes: ['NotTerminating'] }, {}, true],
    ['BestEffort', { scopes: ['BestEffort'] }, {}, true],
    ['BestEffort, with a request', { scopes: ['BestEffort'] }, withCpu('1'), false],
    ['NotBestEffort', { scopes: ['NotBestEffort'] }, withCpu('1'), true],
    ['two at once', { scopes: ['NotBestEffort', 'Terminating'] }, { ...withCpu('1'), activeDeadlineSeconds: 1 }, true],
    ['two, of one only', { scopes: ['NotBestEffort', 'Terminating'] }, withCpu('1'), false],
    ['PriorityClass', { scopes: ['PriorityClass'] }, { priorityClassName: 'high' }, true],
    ['PriorityClass, without one', { scopes: ['PriorityClass'] }, {}, false],
    ['PriorityClass In', expression('PriorityClass', 'In', 'high', 'top'), { priorityClassName: 'high' }, true],
    ['PriorityClass In, of another', expression('PriorityClass', 'In', 'high'), { priorityClassName: 'low' }, false],
    ['PriorityClass In, of none', expression('PriorityClass', 'In', 'high'), {}, false],
    ['PriorityClass NotIn', expression('PriorityClass', 'NotIn', 'high'), { priorityClassName: 'low' }, true],
    ['PriorityClass NotIn, of none', expression('PriorityClass', 'NotIn', 'high'), {}, true],
    ['PriorityClass NotIn, of that one', expression('PriorityClass', 'NotIn', 'high'), { priorityClassName: 'high' }, false],
    ['PriorityClass DoesNotExist', expression('PriorityClass', 'DoesNotExist'), {}, true],
    ['CrossNamespacePodAffinity', { scopes: ['CrossNamespacePodAffinity'] }, elsewhere, true],
    ['CrossNamespacePodAffinity, in its own', { scopes: ['CrossNamespacePodAffinity'] }, {}, false],
    ['VolumeAttributesClass, which pods have none of', { scopes: ['VolumeAttributesClass'] }, {}, false],
  ])('%s', (_title, scopes, spec, counts) => {
    expect(counted(quotaRules(quota({ pods: '1' }, scopes)), shareOf(spec))).toEqual(counts ? { pods: 1 } : {});
  });
});

it('nothing but claims is of the scope of a class of volume attributes', () => {
  const rules = quotaRules(quota({ persistentvolumeclaims: '1', 'count/secrets': '1' }, { scopes: ['VolumeAttributesClass'] }));
  const claim: PersistentVolumeClaim = { spec: { volumeAttributesClassName: 'fast' } };
  expect(counted(rules, quotaShare(kindNamed('PersistentVolumeClaim'), claim, 0))).toEqual({ persistentvolumeclaims: 1 });
  expect(counted(rules, quotaShare(kindNamed('PersistentVolumeClaim'), {}, 0))).toEqual({});
  expect(counted(rules, quotaShare(kindNamed('Secret'), {}, 0))).toEqual({});
});

describe('the room in a quota', () => {
  const rules = quotaRules(quota({ pods: '10', 'requests.cpu': '4', 'requests.memory': '8Gi' }));
  it.each<[string, Record<string, number>, Record<string, number>, string | undefined]>([
    ['is there up to the bound', { pods: 9 }, { pods: 1 }, undefined],
    [
      'is gone at the bound',
      { pods: 10 },
      { pods: 1 },
      'exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10',
    ],
    [
      'is told of what is exceeded alone, in quantities',
      { pods: 1, 'requests.cpu': 3_500, 'requests.memory': 8 * 1024 ** 3 },
      { pods: 1, 'requests.cpu': 750, 'requests.memory': 512 * 1024 ** 2 },
      'exceeded quota: compute, requested: requests.cpu=750m,requests.memory=512Mi, used: requests.cpu=3500m,requests.memory=8Gi, ' +
        'limited: requests.cpu=4,requests.memory=8Gi',
    ],
    ['does not matter to what takes nothing more, however much is in use', { pods: 12 }, {}, undefined],
  ])('%s', (_title, used, more, message) => expect(excess(rules, used, more)).toBe(message));

  it('is never rounded up', () => {
    const small = quotaRules(quota({ 'requests.cpu': '1500u', 'requests.memory': '1500m' }));
    expect(small.most).toEqual({ 'requests.cpu': 1, 'requests.memory': 1 });
  });
});

describe('a quota of compute asks every container for what it bounds', () => {
  const bounded = quota({ 'requests.cpu': '1', 'limits.memory': '1Gi', 'requests.ephemeral-storage': '1Gi' });
  const told = (spec: PodSpec, of = bounded) => lackingMessage(quotaRules(of), shareOf(spec), lacksOf(pod(spec)));

  it('and says who is silent', () => {
    const spec = { containers: [{ name: 'b' }, { name: 'a' }], initContainers: [{ name: 'i', ...withCpu('1').containers![0]! }] };
    expect(told({ ...spec, initContainers: [{ ...spec.initContainers[0]!, name: 'i' }] })).toBe(
      'failed quota: compute: must specify limits.memory for: a,b,i; requests.cpu for: a,b',
    );
  });

  it('but not pods that say it as a whole, or are of other scopes', () => {
    const whole = { requests: q({ cpu: '1' }), limits: q({ memory: '1Gi' }) };
    expect(told({ containers: [{ name: 'c' }], resources: whole })).toBeUndefined();
    const bestEffort = quota({ 'requests.cpu': '1' }, { scopes: ['NotBestEffort'] });
    expect(told({}, bestEffort)).toBeUndefined();
    expect(told({}, quota({ pods: '1' }))).toBeUndefined();
  });
});
