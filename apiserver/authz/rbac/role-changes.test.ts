import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { createRoleWorld, rule, user } from '../../../test/fakes/role-world.ts';
import type { Access } from '../attributes.ts';
import { missingParts, missingRules } from './covers.ts';
import { RuleSet } from './rule-set.ts';

const anna = { user: 'anna', groups: [] };
const own = [rule('get,list pods,pods/log'), rule('get configmaps', { resourceNames: ['a', 'b'] })];

describe('who holds some rules', () => {
  it.each<[string, PolicyRule[], PolicyRule, boolean]>([
    ['the same', own, rule('get pods'), true],
    ['a part of several', [rule('get pods'), rule('list pods')], rule('get,list pods'), true],
    ['one verb more', own, rule('get,delete pods'), false],
    ['one resource more', own, rule('get pods,secrets'), false],
    ['every verb', own, rule('* pods'), false],
    ['one of its names', own, rule('get configmaps', { resourceNames: ['a'] }), true],
    ['another name', own, rule('get configmaps', { resourceNames: ['a', 'c'] }), false],
    ['any name', own, rule('get configmaps'), false],
    ['a name of what it holds with any', own, rule('get pods', { resourceNames: ['x'] }), true],
    ['a subresource that is not held', own, rule('get pods/status'), false],
    ['a subresource by all of the name', [rule('get */status')], rule('get pods/status'), true],
    ['all subresources of a name by some', [rule('get pods/status')], rule('get */status'), false],
    ['something by everything', [rule('* *', { apiGroups: ['*'] })], rule('get secrets', { apiGroups: ['a.b'] }), true],
    ['everything by something', own, rule('* *', { apiGroups: ['*'] }), false],
    ['another group', own, rule('get pods', { apiGroups: ['a.b'] }), false],
    ['a path', [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }], { verbs: ['get'], nonResourceURLs: ['/a/b'] }, true],
    ['more than a path', [{ verbs: ['get'], nonResourceURLs: ['/a/b'] }], { verbs: ['get'], nonResourceURLs: ['/a/*'] }, false],
    ['any path', own, { verbs: ['get'], nonResourceURLs: ['*'] }, false],
    [
      'more than can be judged',
      [rule('* *')],
      { verbs: ['get'], apiGroups: [''], resources: Array.from({ length: 10_001 }, (_, i) => `r${i}`) },
      false,
    ],
  ])('holds %s', (_, held, wanted, answer) => {
    expect(missingRules(new RuleSet(new Map([['', held]])), [wanted], 'default')).toEqual(answer ? [] : [wanted]);
  });

  it('does not hold what is beyond five million comparisons, however many rules are held and asked about', () => {
    let compared = 0;
    const get = (of: PolicyRule, name: string): unknown => {
      if (name === 'apiGroups') compared++;
      return Reflect.get(of, name);
    };
    const named = (name: string) => rule('get configmaps', { resourceNames: [name] });
    const held = Array.from({ length: 5_000 }, (_, at) => new Proxy(named(`held-${at}`), { get }));
    const set = new RuleSet(new Map([['default', held]]));
    const wanted = Array.from({ length: 5_000 }, (_, at) => named(`wanted-${at}`));
    expect(missingParts(set, [...wanted, named('held-1')], 'default').length).toBeGreaterThan(5_000);
    expect(compared).toBeLessThan(3_000_000);
    expect(missingRules(set, [named('held-1'), named('held-4999'), named('wanted-1')], 'default')).toEqual([named('wanted-1')]);
  });

  it('in a namespace does not hold them elsewhere', () => {
    const held = new RuleSet(new Map([['default', own]]));
    expect(missingRules(held, [rule('get pods')], 'default')).toEqual([]);
    expect(missingRules(held, [rule('get pods')], 'other')).toHaveLength(1);
    expect(missingRules(held, [rule('get pods')], '')).toHaveLength(1);
  });
});

describe('a user with a few rights', () => {
  /** Anna holds `own` everywhere and what is said besides. */
  function world(...more: PolicyRule[]) {
    const made = createRoleWorld();
    made.authorizer.observe();
    made.clusterRole('own', ...own, ...more);
    made.clusterRole('small', rule('get pods'));
    made.clusterRole('large', rule('get secrets'));
    made.bind('own', user('anna'));
    const at = (kind: string, name: string, namespace: string): Access => ({ verb: 'create', kind, name, namespace });
    return {
      ...made,
      create: (kind: string, object: ApiObject, namespace = '') =>
        made.authorizer.authorizeCreate(anna, at(kind, 'x', namespace), object),
      change: (kind: string, next: ApiObject, previous: ApiObject, namespace = '') =>
        made.authorizer.authorizeNext(anna, at(kind, 'x', namespace), next, previous),
    };
  }
  const withRules = (...rules: PolicyRule[]) => ({ rules }) as ApiObject;
  const binding = (name: string, kind = 'ClusterRole', ...names: string[]) =>
    ({ roleRef: { kind, name }, subjects: names.map(user) }) as ApiObject;
  const rbac = (verbs: string, resources: string, more: PolicyRule = {}): PolicyRule =>
    rule(`${verbs} ${resources}`, { apiGroups: ['rbac.authorization.k8s.io'], ...more });

  it('writes roles with those, and no others', () => {
    const { create, change } = world();
    create('ClusterRole', withRules(rule('get pods')));
    create('Role', withRules(rule('get pods')), 'default');
    expect(() => create('ClusterRole', withRules(rule('get secrets')))).toThrow(
      'cannot write the cluster role "x": user "anna" (groups=[]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    );
    expect(() => create('Role', withRules(rule('* *')), 'default')).toThrow('the role "x"');
    expect(() =>
      change('Role', withRules(rule('get pods'), rule('get secrets')), withRules(rule('get pods')), 'default'),
    ).toThrow();
    // What was in it already may stay, when something else about it changes.
    const large = withRules(rule('get secrets'));
    change('Role', { ...large, metadata: { labels: { a: 'b' } } }, large, 'default');
    change('Role', withRules(), large, 'default');
  });

  it('is told what of the rules is missing, within bounds', () => {
    const { create } = world();
    const mixed = [
      rule('get,delete,watch pods,secrets'),
      rule('delete pods'),
      rule('get,list configmaps', { resourceNames: ['a', 'c'] }),
      { verbs: ['get', 'post'], nonResourceURLs: ['/x'] },
    ];
    expect(() => create('ClusterRole', withRules(...mixed))).toThrow(
      [
        'held:',
        '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["a"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["c"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete" "watch"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
        '{NonResourceURLs:["/x"], Verbs:["post"]}',
      ].join('\n'),
    );
    const resources = Array.from({ length: 10_001 }, (_, i) => `r${i}`);
    const longest = (verbs: string[], ...more: PolicyRule[]): string => {
      try {
        create('ClusterRole', withRules({ verbs, apiGroups: [''], resources }, ...more));
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    for (const verbs of [['get'], []]) expect(longest(verbs).length).toBeLessThan(4_000);
    expect(longest(['get'])).toMatch(/r0" .*\.\.\.$/s);
    const twice = longest(['get'], rule('get a'), rule('get a'));
    expect(twice).toMatch(/held:\n{APIGroups:\[""\], Resources:\["a"\], Verbs:\["get"\]}\n{APIGroups:\[""\], Resources:\["r0"/);
  });

  it('gives no cluster role labels, by which it becomes part of others, unless it holds what is in it', () => {
    const { change } = world();
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    const small = withRules(rule('get pods'));
    const large = withRules(rule('get secrets'));
    change('ClusterRole', { ...small, metadata: { labels } }, small);
    change('ClusterRole', { ...large, metadata: { annotations: { a: 'b' } } }, large);
    expect(() => change('ClusterRole', { ...large, metadata: { labels } }, large)).toThrow('Resources:["secrets"]');
    world(rbac('escalate', 'clusterroles')).change('ClusterRole', { ...large, metadata: { labels } }, large);
  });

  it('cannot have rules chosen by labels without holding everything', () => {
    const { create } = world();
    const chosen = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } } as ApiObject;
    expect(() => create('ClusterRole', chosen)).toThrow(
      '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
    );
    world(rule('* *', { apiGroups: ['*'] }), { verbs: ['*'], nonResourceURLs: ['*'] }).create('ClusterRole', chosen);
  });

  it('binds roles with those, and no others, nor any that are not there', () => {
    const { create, change } = world();
    create('ClusterRoleBinding', binding('small'));
    create('RoleBinding', binding('small'), 'default');
    for (const [kind, namespace] of [
      ['ClusterRoleBinding', ''],
      ['RoleBinding', 'default'],
    ] as const) {
      expect(() => create(kind, binding('large'), namespace)).toThrow(
        'cannot grant the ClusterRole "large": user "anna" (groups=[]) is attempting to grant RBAC permissions not currently ' +
          'held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
      );
      expect(() => create(kind, binding('nothing'), namespace)).toThrow('clusterrole "nothing" not found');
      expect(() => create(kind, binding('small', 'Group'), namespace)).toThrow('cannot grant a role of kind "Group"');
      expect(() => change(kind, binding('large', 'ClusterRole', 'anna'), binding('large'), namespace)).toThrow();
      change(kind, { ...binding('large'), metadata: { labels: { a: 'b' } } }, binding('large'), namespace);
    }
  });

  it('may do both when told so by name, by "escalate" and "bind"', () => {
    const escalating = world(rbac('escalate', 'clusterroles', { resourceNames: ['x'] }));
    escalating.create('ClusterRole', withRules(rule('get secrets')));
    expect(() => escalating.create('Role', withRules(rule('get secrets')), 'default')).toThrow();
    const binder = world(rbac('bind', 'clusterroles', { resourceNames: ['large'] }));
    binder.create('ClusterRoleBinding', binding('large'));
    binder.clusterRole('larger', rule('* *'));
    expect(() => binder.create('ClusterRoleBinding', binding('larger'))).toThrow();
  });

  it('writes no role of more parts than are checked, however they are spread over its rules', () => {
    const { create } = world(rule('* *', { apiGroups: [''] }));
    const large = { ...rule('get pods'), resources: Array.from({ length: 2_000 }, () => 'pods') };
    create('Role', withRules(large, large, large, large, large), 'default');
    expect(() => create('Role', withRules(large, large, large, large, large, rule('get pods')), 'default')).toThrow();
  });

  it('binds a role of the namespace by what it holds there', () => {
    const { create, role, bindIn } = world();
    role('default', 'local', rule('get secrets'));
    expect(() => create('RoleBinding', binding('local', 'Role'), 'default')).toThrow();
    bindIn('default', 'ClusterRole/large', user('anna'));
    create('RoleBinding', binding('local', 'Role'), 'default');
    expect(() => create('RoleBinding', binding('local', 'Role'), 'other')).toThrow('role "local" in namespace "other" not found');
  });
});
