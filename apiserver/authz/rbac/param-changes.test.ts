import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { createRoleWorld, rule, user } from '../../../test/fakes/role-world.ts';
import type { Access } from '../attributes.ts';

const anna = { user: 'anna', groups: [] };
const policy = (kind?: string, apiVersion = 'v1'): ApiObject =>
  ({ spec: kind ? { paramKind: { kind, apiVersion } } : {} }) as ApiObject;
const binding = (policyName: string, paramRef?: object): ApiObject => ({ spec: { policyName, paramRef } }) as ApiObject;
const one = { name: 'limits', namespace: 'default', parameterNotFoundAction: 'Deny' };
const some = { selector: { matchLabels: { a: 'b' } }, namespace: 'default', parameterNotFoundAction: 'Deny' };

/** Anna may read what the rules say, in "default" those of `local`; there is a policy "p" of ConfigMaps. */
function world(rules: readonly PolicyRule[], local: readonly PolicyRule[] = []) {
  const made = createRoleWorld();
  made.authorizer.observe();
  made.clusterRole('own', ...rules);
  made.bind('own', user('anna'));
  made.role('default', 'local', ...local);
  made.bindIn('default', 'Role/local', user('anna'));
  made.put('ValidatingAdmissionPolicy', { metadata: { name: 'p' }, ...policy('ConfigMap') } as ApiObject);
  const accessTo = (object: ApiObject): Access => {
    const isBinding = 'policyName' in ((object as { spec?: object }).spec ?? {});
    return { verb: 'create', kind: `ValidatingAdmissionPolicy${isBinding ? 'Binding' : ''}`, name: 'x', namespace: '' };
  };
  return {
    create: (object: ApiObject) => made.authorizer.authorizeCreate(anna, accessTo(object), object),
    change: (next: ApiObject, previous: ApiObject) => made.authorizer.authorizeNext(anna, accessTo(next), next, previous),
  };
}

describe('a user that writes a policy', () => {
  it.each<[string, PolicyRule[], PolicyRule[], ApiObject]>([
    ['without parameters', [], [], policy()],
    ['of objects that it may read everywhere', [rule('get configmaps')], [], policy('ConfigMap')],
    [
      'of a kind that is not there, of a group that it may read',
      [rule('get *', { apiGroups: ['a.b'] })],
      [],
      policy('C', 'a.b/v1'),
    ],
  ])('may do so %s', (_, rules, local, object) => {
    expect(() => world(rules, local).create(object)).not.toThrow();
  });

  it.each<[string, PolicyRule[], PolicyRule[], ApiObject]>([
    ['that it may not read', [rule('get configmaps')], [], policy('Secret')],
    ['that it may read in a namespace only', [], [rule('get secrets')], policy('Secret')],
    ['of which it may read one', [rule('get secrets', { resourceNames: ['x'] })], [], policy('Secret')],
    ['of a kind that is not there', [rule('get configmaps', { apiGroups: ['a.b'] })], [], policy('ConfigMap', 'a.b/v1')],
  ])('may not do so with parameters %s', (_, rules, local, object) => {
    expect(() => world(rules, local).create(object)).toThrow(
      /spec\.paramKind: forbidden: user "anna" must have "get" permission on all objects of the referenced paramKind \(kind=/,
    );
  });

  it('may change the rest of one whose parameters it may not read, but not name others', () => {
    const { change } = world([rule('get configmaps')]);
    change({ ...policy('Secret'), metadata: { labels: { a: 'b' } } } as ApiObject, policy('Secret'));
    change(policy('ConfigMap'), policy('Secret'));
    expect(() => change(policy('Secret'), policy('ConfigMap'))).toThrow('spec.paramKind: forbidden');
  });
});

describe('a user that binds a policy', () => {
  it.each<[string, PolicyRule[], PolicyRule[], ApiObject]>([
    ['without parameters', [], [], binding('p')],
    ['with one that it may read', [], [rule('get configmaps', { resourceNames: ['limits'] })], binding('p', one)],
    ['with those of a namespace that it may read', [], [rule('get configmaps')], binding('p', some)],
    ['that comes later, if it may read everything', [rule('get *', { apiGroups: ['*'] })], [], binding('later', one)],
  ])('may do so %s', (_, rules, local, object) => {
    expect(() => world(rules, local).create(object)).not.toThrow();
  });

  it.each<[string, PolicyRule[], PolicyRule[], ApiObject]>([
    ['with one that it may not read', [rule('get secrets')], [], binding('p', one)],
    [
      'with all that have a label, of which it may read one',
      [],
      [rule('get configmaps', { resourceNames: ['limits'] })],
      binding('p', some),
    ],
    ['with those of all namespaces, of which it may read one', [], [rule('get configmaps')], binding('p', { name: 'limits' })],
    ['that comes later', [rule('get configmaps')], [], binding('later', one)],
  ])('may not do so %s', (_, rules, local, object) => {
    expect(() => world(rules, local).create(object)).toThrow(
      'spec.paramRef: forbidden: user "anna" does not have "get" permission on the object referenced by paramRef',
    );
  });

  it('may change the rest of a binding whose parameters it may not read', () => {
    const { change } = world([]);
    change({ ...binding('p', one), metadata: { labels: { a: 'b' } } } as ApiObject, binding('p', one));
    expect(() => change(binding('p', { ...one, name: 'others' }), binding('p', one))).toThrow('spec.paramRef: forbidden');
    expect(() => change(binding('q', one), binding('p', one))).toThrow('spec.paramRef: forbidden');
  });
});
