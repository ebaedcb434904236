import { describe, expect, it } from 'vitest';
import type { ResourceQuota, ResourceQuotaSpec } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';

const kind = kindNamed('ResourceQuota');
const amounts = (texts: Record<string, string>) =>
  Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const refused = (spec: ResourceQuotaSpec): string[] => fields(kind.validate({ metadata: { name: 'q' }, spec }));
const expression = (scopeName: string, operator: string, ...values: string[]): ResourceQuotaSpec => ({
  scopeSelector: { matchExpressions: [{ scopeName, operator, values }] },
});

describe('the bounds of a quota', () => {
  it.each([
    ...['cpu', 'memory', 'requests.cpu', 'limits.memory', 'requests.storage', 'requests.ephemeral-storage', 'pods', 'services'],
    ...['services.nodeports', 'services.loadbalancers', 'secrets', 'configmaps', 'persistentvolumeclaims', 'resourcequotas'],
    ...['count/deployments.apps', 'count/pods', 'requests.example.com/gpu', 'requests.hugepages-2Mi', 'hugepages-2Mi'],
    ...['gold.storageclass.storage.k8s.io/requests.storage', 'gold.storageclass.storage.k8s.io/persistentvolumeclaims'],
  ])('may be of %s', (name) => expect(refused({ hard: amounts({ [name]: '4' }) })).toEqual([]));

  it.each<[string, string]>([
    ['storage', '1'],
    ['deployments', '1'],
    ['limits.storage', '1'],
    ['count/', '1'],
    ['a b', '1'],
    ['pods', '-1'],
    ['pods', '1.5'],
    ['count/jobs.batch', '500m'],
    ['requests.cpu', 'two'],
  ])('cannot be of %s: %s', (name, text) => {
    expect(refused({ hard: amounts({ [name]: text }) })).toEqual([`spec.hard[${name}]`]);
  });
});

describe('the scopes of a quota', () => {
  const hard = amounts({ pods: '4' });
  it.each<[string, ResourceQuotaSpec, string[]]>([
    ['pods that end', { hard, scopes: ['Terminating'] }, []],
    ['pods that end and request CPU', { hard: amounts({ 'requests.cpu': '1' }), scopes: ['Terminating', 'NotBestEffort'] }, []],
    ['a scope that does not exist', { hard, scopes: ['Sleeping'] }, ['spec.scopes[0]']],
    ['pods that request nothing, and their CPU', { hard: amounts({ cpu: '1' }), scopes: ['BestEffort'] }, ['spec.scopes[0]']],
    ['pods that end, and services', { hard: amounts({ services: '1' }), scopes: ['Terminating'] }, ['spec.scopes[0]']],
    ['pods that end, and what others count', { hard: amounts({ 'count/jobs.batch': '1' }), scopes: ['Terminating'] }, []],
    ['opposites', { hard, scopes: ['Terminating', 'NotTerminating'] }, ['spec.scopes']],
    ['some priorities', { hard, ...expression('PriorityClass', 'In', 'high') }, []],
    ['no priority', { hard, ...expression('PriorityClass', 'DoesNotExist') }, []],
    [
      'claims of a class of attributes',
      { hard: amounts({ 'requests.storage': '1Gi' }), ...expression('VolumeAttributesClass', 'In', 'a') },
      [],
    ],
    ['affinity across namespaces', { hard, ...expression('CrossNamespacePodAffinity', 'Exists') }, []],
    ['pods of a class of attributes', { hard, ...expression('VolumeAttributesClass', 'Exists') }, ['scopeName']],
    ['an expression of no scope', { hard, ...expression('', 'Exists') }, ['scopeName']],
    ['an operator that does not exist', { hard, ...expression('PriorityClass', 'Like') }, ['operator']],
    ['an operator that a scope does not have', { hard, ...expression('BestEffort', 'NotIn', 'a') }, ['operator']],
    ['an operator without its values', { hard, ...expression('PriorityClass', 'In') }, ['values']],
    ['values that an operator does not have', { hard, ...expression('PriorityClass', 'Exists', 'a') }, ['values']],
  ])('are judged: %s', (_title, spec, expected) => {
    const paths = expected.map((field) => (field.startsWith('spec') ? field : `spec.scopeSelector.matchExpressions[0].${field}`));
    expect(refused(spec)).toEqual(paths);
  });

  it('cannot change, in whatever order they are', () => {
    const quota = (...scopes: string[]): ResourceQuota => ({ spec: { hard, scopes } });
    const update = (next: ResourceQuota, before: ResourceQuota) => fields(kind.validateUpdate(next, before));
    expect(update(quota('Terminating'), quota())).toEqual(['spec.scopes']);
    expect(update(quota(), quota('Terminating'))).toEqual(['spec.scopes']);
    expect(update(quota('Terminating', 'NotBestEffort'), quota('NotBestEffort', 'Terminating'))).toEqual([]);
    expect(update({ spec: { hard: amounts({ pods: '9' }) } }, { spec: { hard } })).toEqual([]);
  });
});

describe('a quota', () => {
  it('has amounts in its status that make sense', () => {
    const status = { hard: amounts({ pods: '4' }), used: amounts({ pods: '-1', things: '1' }) };
    expect(fields(kind.validateStatusUpdate!({ status }, {}))).toEqual(['status.used[pods]', 'status.used[things]']);
  });

  it('shows what kubectl shows', () => {
    expect(kindOf('quota')).toBe(kind);
    const status = {
      hard: amounts({ pods: '10', 'limits.cpu': '4', 'requests.cpu': '2', 'limits.memory': '8Gi' }),
      used: amounts({ pods: '3', 'limits.cpu': '500m' }),
    };
    const cells = kind.columns.map(({ name, cell }) => [name, cell({ metadata: { name: 'q' }, status }, new Date())]);
    expect(cells.slice(0, 3)).toEqual([
      ['NAME', 'q'],
      ['REQUEST', 'pods: 3/10, requests.cpu: 0/2'],
      ['LIMIT', 'limits.cpu: 500m/4, limits.memory: 0/8Gi'],
    ]);
  });
});
