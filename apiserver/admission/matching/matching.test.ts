import { describe, expect, it } from 'vitest';
import type { MatchResources } from '../../../api/generated/types.ts';
import { type KindName, kindNamed } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { AdmissionAttributes } from '../dynamic.ts';
import { resourcesMatch } from './match-resources.ts';
import { RequestObjects, requestJson } from './request.ts';
import { matchedVersion, namedRuleVersion, type ServedVersions } from './rules.ts';

const call = {
  identity: { user: 'jane', groups: ['devs'] },
  warn: () => {},
};

function request(parts: Partial<AdmissionAttributes> & { kindName?: KindName } = {}): AdmissionAttributes {
  const kind = kindNamed(parts.kindName ?? 'Pod') as Kind;
  return {
    operation: 'CREATE',
    kind,
    subresource: '',
    form: kind,
    namespace: kind.namespaced ? 'shop' : '',
    name: 'web',
    object: { metadata: { name: 'web', labels: { app: 'web' } } },
    previous: undefined,
    call,
    manager: 'm',
    dryRun: false,
    ...parts,
  };
}

const rule = (resources: string[], rest: object = {}, operations = ['*']) => ({
  operations,
  rule: { apiGroups: [''], apiVersions: ['v1'], resources, ...rest },
});

/** PodDisruptionBudgets have an older version, all others have none. */
const served: ServedVersions = ({ kind, apiVersion }) =>
  kind === 'PodDisruptionBudget' ? ['policy/v1', 'policy/v1beta1'] : [apiVersion];

describe('a rule of admission', () => {
  it.each([
    ['pods', '', true],
    ['pods', 'status', false],
    ['pods/status', 'status', true],
    ['pods/status', '', false],
    ['pods/*', 'status', true],
    ['*/status', 'status', true],
    ['*', '', true],
    ['*', 'status', false],
    ['*/*', '', true],
    ['*/*', 'status', true],
    ['services', '', false],
  ])('about %s and a request for pods with the subresource "%s": %s', (resource, subresource, expected) => {
    const named = { ruleWithOperations: rule([resource]) };
    expect(namedRuleVersion(named, request({ subresource }), 'Exact', served) !== undefined).toBe(expected);
  });

  it.each<[string, object, string[], Partial<AdmissionAttributes> & { kindName?: KindName }, boolean]>([
    ['of the operation', {}, ['CREATE'], {}, true],
    ['of another operation', {}, ['UPDATE', 'DELETE'], {}, false],
    ['of another group', { apiGroups: ['apps'] }, ['*'], {}, false],
    ['of all groups', { apiGroups: ['*'] }, ['*'], {}, true],
    ['of objects in namespaces', { scope: 'Namespaced' }, ['*'], {}, true],
    ['of objects of the cluster', { scope: 'Cluster' }, ['*'], {}, false],
    ['of the cluster, for a namespace', { scope: 'Cluster', resources: ['namespaces'] }, ['*'], { kindName: 'Namespace' }, true],
  ])('%s', (_, rest, operations, parts, expected) => {
    const named = { ruleWithOperations: rule(['pods'], rest, operations) };
    expect(namedRuleVersion(named, request(parts), 'Exact', served) !== undefined).toBe(expected);
  });

  it('means another version of the kind only where equivalent ones count, and only a served one', () => {
    const of = (apiVersions: string[]) => ({
      ruleWithOperations: rule(['poddisruptionbudgets'], { apiGroups: ['policy'], apiVersions }),
    });
    const budget = request({ kindName: 'PodDisruptionBudget' });
    expect(namedRuleVersion(of(['v1beta1']), budget, 'Equivalent', served)).toBe('policy/v1beta1');
    expect(namedRuleVersion(of(['v1beta1']), budget, 'Exact', served)).toBeUndefined();
    expect(namedRuleVersion(of(['v2']), budget, 'Equivalent', served)).toBeUndefined();
  });

  it('may name objects', () => {
    const named = { resourceNames: ['web'], ruleWithOperations: rule(['pods']) };
    expect(namedRuleVersion(named, request(), 'Exact', served) !== undefined).toBe(true);
    expect(namedRuleVersion(named, request({ name: 'db' }), 'Exact', served) !== undefined).toBe(false);
  });
});

describe('the version that a rule of a webhook names', () => {
  const versionOf = (policy: 'Exact' | 'Equivalent', apiVersions: string[], requested?: string) => {
    const rules = [rule(['poddisruptionbudgets'], { apiGroups: ['policy'], apiVersions })];
    return matchedVersion({ rules, policy }, request({ kindName: 'PodDisruptionBudget', requested }), served);
  };

  it('is that of the request where a rule names it', () => {
    expect(versionOf('Equivalent', ['v1beta1', 'v1'])).toBe('policy/v1');
    expect(versionOf('Equivalent', ['v1beta1', 'v1'], 'policy/v1beta1')).toBe('policy/v1beta1');
    expect(versionOf('Exact', ['v1'])).toBe('policy/v1');
    expect(versionOf('Exact', ['v1'], 'policy/v1beta1')).toBeUndefined();
  });

  it('is another one that is served where equivalent ones count', () => {
    expect(versionOf('Equivalent', ['v1beta1'])).toBe('policy/v1beta1');
    expect(versionOf('Equivalent', ['v1'], 'policy/v1beta1')).toBe('policy/v1');
    expect(versionOf('Equivalent', ['v2'])).toBeUndefined();
    expect(versionOf('Exact', ['v1beta1'])).toBeUndefined();
  });
});

describe('what a policy is about', () => {
  const pods = { resourceRules: [{ ruleWithOperations: rule(['pods']) }] };
  const namespaces = (name: string) => (name === 'shop' ? { team: 'a' } : undefined);
  const matches = (match: MatchResources | undefined, attributes: AdmissionAttributes) =>
    resourcesMatch(match, attributes, { labelsOfNamespace: namespaces, versionsOf: served });
  const team = { namespaceSelector: { matchLabels: { team: 'a' } } };
  const app = { objectSelector: { matchLabels: { app: 'web' } } };

  it('is everything where nothing is said, and nothing that is excluded', () => {
    expect(matches(undefined, request())).toBe(true);
    expect(matches({}, request())).toBe(true);
    expect(matches({ ...pods, excludeResourceRules: pods.resourceRules }, request())).toBe(false);
    expect(matches(pods, request({ kindName: 'Service' }))).toBe(false);
  });

  it('may depend on the labels of the namespace', () => {
    expect(matches({ ...pods, ...team }, request())).toBe(true);
    expect(matches({ ...pods, ...team }, request({ namespace: 'other' }))).toBe(false);
  });

  it('takes the labels of a namespace from itself, and no labels from objects of the cluster', () => {
    const object = { metadata: { name: 'new', labels: { team: 'a' } } };
    expect(matches(team, request({ kindName: 'Namespace', object }))).toBe(true);
    expect(matches(team, request({ kindName: 'Namespace' }))).toBe(false);
    expect(matches(team, request({ kindName: 'Namespace', operation: 'DELETE', object: undefined, previous: object }))).toBe(
      true,
    );
    expect(matches(team, request({ kindName: 'Namespace', subresource: 'status', name: 'shop' }))).toBe(true);
    expect(matches(team, request({ kindName: 'PersistentVolume' }))).toBe(true);
  });

  it('may depend on the labels of the object, before or after the change', () => {
    const unlabelled = { metadata: { name: 'web' } };
    const labelled = { metadata: { name: 'web', labels: { app: 'web' } } };
    expect(matches(app, request())).toBe(true);
    expect(matches(app, request({ object: unlabelled }))).toBe(false);
    expect(matches(app, request({ operation: 'UPDATE', object: unlabelled, previous: labelled }))).toBe(true);
    expect(matches(app, request({ operation: 'DELETE', object: undefined, previous: labelled }))).toBe(true);
  });
});

it('shows a request as Kubernetes has it in an AdmissionReview', () => {
  expect(requestJson(request({ kindName: 'Deployment', subresource: 'status', dryRun: true }))).toEqual({
    kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
    resource: { group: 'apps', version: 'v1', resource: 'deployments' },
    subResource: 'status',
    requestKind: { group: 'apps', version: 'v1', kind: 'Deployment' },
    requestResource: { group: 'apps', version: 'v1', resource: 'deployments' },
    requestSubResource: 'status',
    name: 'web',
    namespace: 'shop',
    operation: 'CREATE',
    userInfo: { username: 'jane', groups: ['devs'] },
    dryRun: true,
    options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions', fieldManager: 'm', dryRun: ['All'] },
  });
});

describe('a request in the older version that a rule names', () => {
  const target = { type: 'Utilization', averageUtilization: 70 };
  const object = {
    metadata: { name: 'web' },
    spec: { metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }] },
  };
  const scaler = request({ kindName: 'HorizontalPodAutoscaler', object });

  it('has its objects in that version, and says which one the request had', () => {
    const objects = new RequestObjects(scaler, { uid: 'u', version: 'autoscaling/v1' });
    expect(objects.object).toMatchObject({ apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 70 } });
    expect(objects.oldObject).toBeNull();
    expect(objects.request).toMatchObject({
      uid: 'u',
      kind: { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' },
      resource: { group: 'autoscaling', version: 'v1', resource: 'horizontalpodautoscalers' },
      requestKind: { version: 'v2' },
      requestResource: { version: 'v2' },
    });
  });

  it('has the form of a subresource of another group as it is', () => {
    const form = kindNamed('PodDisruptionBudget') as Kind;
    const { request: shown } = new RequestObjects(request({ form, subresource: 'eviction' }), { version: 'x/v1' });
    expect(shown).toMatchObject({ kind: { group: 'policy' }, resource: { group: '', version: 'v1' } });
  });
});
