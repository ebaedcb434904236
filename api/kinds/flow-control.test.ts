import { describe, expect, it } from 'vitest';
import { fromJson } from '../codec/json.ts';
import type { JsonObject } from '../meta/merge-patch.ts';
import { mandatoryFlowSchemas } from './flow-schema/mandatory.ts';
import { type KindMap, type KindName, kindNamed } from './index.ts';
import type { Kind } from './kind.ts';

function objectOf<Name extends KindName>(name: Name, spec: JsonObject, objectName = 'a'): KindMap[Name] {
  const kind = kindNamed(name) as Kind;
  const object = fromJson(kind, { apiVersion: kind.apiVersion, kind: name, metadata: { name: objectName }, spec });
  kind.defaults(object);
  return object as KindMap[Name];
}
const refused = (name: KindName, spec: JsonObject, objectName?: string): string[] =>
  (kindNamed(name) as Kind).validate(objectOf(name, spec, objectName)).map(({ field }) => field);

const level = { priorityLevelConfiguration: { name: 'global-default' } };
const user = { kind: 'User', user: { name: 'anna' } };
const anything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] };
const rules = (...list: JsonObject[]): JsonObject => ({ ...level, rules: list });
const by = (subject: JsonObject): JsonObject => rules({ subjects: [subject], resourceRules: [anything] });
const resources = (rule: JsonObject): JsonObject => rules({ subjects: [user], resourceRules: [{ ...anything, ...rule }] });
const urls = (...nonResourceURLs: string[]): JsonObject =>
  rules({ subjects: [user], nonResourceRules: [{ verbs: ['get'], nonResourceURLs }] });
const RULE = 'spec.rules[0].resourceRules[0]';
const SUBJECT = 'spec.rules[0].subjects[0]';
const URLS = 'spec.rules[0].nonResourceRules[0].nonResourceURLs';

describe('a FlowSchema', () => {
  it.each<[string, JsonObject, string[]]>([
    ['a level', level, []],
    ['no level', {}, ['spec.priorityLevelConfiguration.name']],
    ['a level that is none', { priorityLevelConfiguration: { name: 'A' } }, ['spec.priorityLevelConfiguration.name']],
    ['a precedence that is too high', { ...level, matchingPrecedence: 10_001 }, ['spec.matchingPrecedence']],
    ['a negative precedence', { ...level, matchingPrecedence: -1 }, ['spec.matchingPrecedence']],
    ['the precedence of another', { ...level, matchingPrecedence: 1 }, ['spec.matchingPrecedence']],
    ['a way to tell flows apart', { ...level, distinguisherMethod: { type: 'ByUser' } }, []],
    ['a way that does not exist', { ...level, distinguisherMethod: { type: 'ByAge' } }, ['spec.distinguisherMethod.type']],
    ['rules', by(user), []],
    ['a group', by({ kind: 'Group', group: { name: 'system:authenticated' } }), []],
    ['a service account', by({ kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'shop' } }), []],
    [
      'a service account of no namespace',
      by({ kind: 'ServiceAccount', serviceAccount: { name: 'a' } }),
      [`${SUBJECT}.serviceAccount.namespace`],
    ],
    ['a user and a group', by({ ...user, group: { name: 'a' } }), [`${SUBJECT}.group`]],
    ['a user without a user', by({ kind: 'User' }), [`${SUBJECT}.user`]],
    ['a user without a name', by({ kind: 'User', user: {} }), [`${SUBJECT}.user.name`]],
    ['a kind of subject that does not exist', by({ kind: 'Robot' }), [`${SUBJECT}.kind`]],
    ['an empty rule', rules({}), ['spec.rules[0].subjects', 'spec.rules[0]']],
    ['a verb that does not exist', resources({ verbs: ['dance'] }), [`${RULE}.verbs[0]`]],
    ['a verb beside all', resources({ verbs: ['*', 'get'] }), [`${RULE}.verbs`]],
    ['no groups and resources', resources({ apiGroups: [], resources: [] }), [`${RULE}.apiGroups`, `${RULE}.resources`]],
    ['no namespaces', resources({ namespaces: [] }), [`${RULE}.namespaces`]],
    ['what is in no namespace', resources({ namespaces: [], clusterScope: true }), []],
    ['a namespace that is none', resources({ namespaces: ['A'] }), [`${RULE}.namespaces[0]`]],
    ['paths', urls('/', '/healthz', '/healthz/*'), []],
    ['all paths', urls('*'), []],
    ['paths that are none', urls('a', '/a//b', '/he*', '/a b'), [0, 1, 2, 3].map((i) => `${URLS}[${i}]`)],
  ])('is judged when it has %s', (_title, spec, expected) => expect(refused('FlowSchema', spec)).toEqual(expected));

  it('has the precedence 1000 unless it says otherwise', () => {
    expect(objectOf('FlowSchema', level).spec?.matchingPrecedence).toBe(1000);
  });

  it.each(['exempt', 'catch-all'])('that is named "%s" has the spec that Kubernetes fixes, and no other', (name) => {
    const fixed = mandatoryFlowSchemas[name] as JsonObject;
    expect(refused('FlowSchema', fixed, name)).toEqual([]);
    expect(refused('FlowSchema', { ...fixed, matchingPrecedence: 500 }, name)).toEqual(['spec']);
  });

  it('is shown with its level, and warns that it is only stored', () => {
    const { columns, warnings } = kindNamed('FlowSchema');
    const object = objectOf('FlowSchema', { ...level, distinguisherMethod: { type: 'ByUser' } });
    const shown = columns.filter(({ type }) => type !== 'date').map(({ cell }) => cell(object, new Date(0)));
    expect(shown).toEqual(['a', 'global-default', '1000', 'ByUser', '?']);
    object.status = { conditions: [{ type: 'Dangling', status: 'True' }] };
    expect(columns.at(-1)?.cell(object, new Date(0))).toBe('True');
    expect(warnings!(object)).toEqual([expect.stringMatching(/^spec is not acted on: /)]);
  });
});

const limited = (part: JsonObject): JsonObject => ({ type: 'Limited', limited: { limitResponse: { type: 'Reject' }, ...part } });
const queued = (queuing: JsonObject): JsonObject => limited({ limitResponse: { type: 'Queue', queuing } });
const QUEUING = 'spec.limited.limitResponse.queuing';

describe('a PriorityLevelConfiguration', () => {
  it.each<[string, JsonObject, string[]]>([
    ['limits', limited({}), []],
    ['queues', queued({}), []],
    ['no type', {}, ['spec.type']],
    ['a type that does not exist', { type: 'Free' }, ['spec.type']],
    ['no limits although it has', { type: 'Limited' }, ['spec.limited']],
    ['what only another level has', { ...limited({}), exempt: {} }, ['spec.exempt']],
    ['no limits', { type: 'Exempt' }, ['spec.type']],
    [
      'shares that are none',
      limited({ nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1 }),
      ['spec.limited.nominalConcurrencyShares', 'spec.limited.lendablePercent', 'spec.limited.borrowingLimitPercent'],
    ],
    ['a jail', limited({ nominalConcurrencyShares: 0 }), []],
    ['no response', { type: 'Limited', limited: {} }, ['spec.limited.limitResponse.type']],
    ['a response without queues', limited({ limitResponse: { type: 'Queue' } }), [QUEUING]],
    ['queues for nothing', limited({ limitResponse: { type: 'Reject', queuing: {} } }), [QUEUING]],
    ['too many queues', queued({ queues: 10_000_001, handSize: 1 }), [`${QUEUING}.queues`]],
    ['a hand of more than all queues', queued({ queues: 4, handSize: 5 }), [`${QUEUING}.handSize`]],
    ['a hand of too many bits', queued({ queues: 512, handSize: 8 }), [`${QUEUING}.handSize`]],
    ['negative lengths', queued({ queueLengthLimit: -1, handSize: -1 }), [`${QUEUING}.queueLengthLimit`, `${QUEUING}.handSize`]],
  ])('is judged when it has %s', (_title, spec, expected) =>
    expect(refused('PriorityLevelConfiguration', spec)).toEqual(expected),
  );

  it('is without limits if its name is "exempt", and only then', () => {
    expect(refused('PriorityLevelConfiguration', { type: 'Exempt', exempt: {} }, 'exempt')).toEqual([]);
    expect(refused('PriorityLevelConfiguration', limited({}), 'exempt')).toEqual(['spec.type', 'spec']);
  });

  it("has Kubernetes' shares and queues unless it says otherwise, and shows them", () => {
    const { columns } = kindNamed('PriorityLevelConfiguration');
    const shown = (spec: JsonObject) => {
      const object = objectOf('PriorityLevelConfiguration', spec);
      return columns.slice(1, 6).map(({ cell }) => cell(object, new Date(0)));
    };
    expect(shown(queued({}))).toEqual(['Limited', '30', '64', '8', '50']);
    expect(shown(limited({}))).toEqual(['Limited', '30', '<none>', '<none>', '<none>']);
    expect(shown({ type: 'Exempt', exempt: {} })).toEqual(['Exempt', '0', '<none>', '<none>', '<none>']);
  });
});
