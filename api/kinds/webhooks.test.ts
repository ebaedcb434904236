import { describe, expect, it } from 'vitest';
import type { MutatingWebhook, Rule, ServiceReference, WebhookClientConfig } from '../generated/types.ts';
import { kindNamed } from './index.ts';

const mutating = kindNamed('MutatingWebhookConfiguration');
const validating = kindNamed('ValidatingWebhookConfiguration');

const pods = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const pem = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');

function webhook(changes: MutatingWebhook = {}): MutatingWebhook {
  return {
    name: 'pods.example.com',
    clientConfig: { url: 'https://hooks.example.com/pods' },
    rules: [{ operations: ['CREATE'], rule: pods }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...changes,
  };
}

function fieldsOf(...webhooks: MutatingWebhook[]): string[] {
  const object = { metadata: { name: 'a' }, webhooks };
  mutating.defaults(object);
  return mutating.validate(object).map(({ field }) => field);
}

const ruled = (changes: Rule): MutatingWebhook => webhook({ rules: [{ operations: ['*'], rule: { ...pods, ...changes } }] });
const at = (changes: WebhookClientConfig): MutatingWebhook => webhook({ clientConfig: changes });
const service = (changes: ServiceReference): MutatingWebhook => at({ service: { namespace: 'hooks', name: 'pods', ...changes } });
const condition = { name: 'a', expression: 'true' };
const CONFIG = 'webhooks[0].clientConfig';
const RULE = 'webhooks[0].rules[0]';

describe('a webhook', () => {
  it.each<[string, MutatingWebhook, string[]]>([
    ['a good one', webhook(), []],
    ['no name', webhook({ name: '' }), ['webhooks[0].name']],
    ['a name of two parts', webhook({ name: 'example.com' }), ['webhooks[0].name']],
    ['a name that is no domain', webhook({ name: 'a_b.example.com' }), ['webhooks[0].name']],
    ['neither url nor service', at({}), [CONFIG]],
    ['a service', service({}), []],
    ['url and service', at({ url: 'https://a.b', service: { namespace: 'a', name: 'b' } }), [CONFIG]],
    ['http', at({ url: 'http://a.b' }), [`${CONFIG}.url`]],
    ['no URL', at({ url: 'a.b' }), [`${CONFIG}.url`]],
    ['a user', at({ url: 'https://u:p@a.b' }), [`${CONFIG}.url`]],
    ['a query', at({ url: 'https://a.b/?x=1' }), [`${CONFIG}.url`]],
    ['a fragment', at({ url: 'https://a.b/#x' }), [`${CONFIG}.url`]],
    ['authorities', at({ url: 'https://a.b', caBundle: pem }), []],
    ['authorities that are none', at({ url: 'https://a.b', caBundle: Buffer.from('x') }), [`${CONFIG}.caBundle`]],
    ['authorities that are filled in later', at({ url: 'https://a.b', caBundle: Buffer.from('\n') }), []],
    ['a service without a name', service({ name: '' }), [`${CONFIG}.service.name`]],
    ['a service without a namespace', service({ namespace: '' }), [`${CONFIG}.service.namespace`]],
    ['a path', service({ path: '/a/b' }), []],
    ['a path without a slash', service({ path: 'a' }), [`${CONFIG}.service.path`]],
    ['a path with an empty step', service({ path: '/a//b' }), [`${CONFIG}.service.path`]],
    ['a port that is none', service({ port: 70_000 }), [`${CONFIG}.service.port`]],
    ['31 seconds', webhook({ timeoutSeconds: 31 }), ['webhooks[0].timeoutSeconds']],
    ['no seconds', webhook({ timeoutSeconds: 0 }), ['webhooks[0].timeoutSeconds']],
    ['no side effects', webhook({ sideEffects: '' }), ['webhooks[0].sideEffects']],
    ['unknown side effects', webhook({ sideEffects: 'Some' }), ['webhooks[0].sideEffects']],
    ['no versions', webhook({ admissionReviewVersions: [] }), ['webhooks[0].admissionReviewVersions']],
    ['v1beta1 alone', webhook({ admissionReviewVersions: ['v1beta1'] }), ['webhooks[0].admissionReviewVersions']],
    ['v1 and v1beta1', webhook({ admissionReviewVersions: ['v1beta1', 'v1'] }), []],
    ['a failure policy that is none', webhook({ failurePolicy: 'Warn' }), ['webhooks[0].failurePolicy']],
    ['a match policy that is none', webhook({ matchPolicy: 'Some' }), ['webhooks[0].matchPolicy']],
    ['reinvocation that is none', webhook({ reinvocationPolicy: 'Always' }), ['webhooks[0].reinvocationPolicy']],
    [
      'a selector that is none',
      webhook({ objectSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } }),
      ['webhooks[0].objectSelector.matchExpressions[0].operator'],
    ],
    ['conditions', webhook({ matchConditions: [condition] }), []],
    ['conditions of one name', webhook({ matchConditions: [condition, condition] }), ['webhooks[0].matchConditions[1].name']],
    [
      '65 conditions',
      webhook({ matchConditions: Array.from({ length: 65 }, (_, i) => ({ ...condition, name: `a${i}` })) }),
      ['webhooks[0].matchConditions'],
    ],
    [
      'an empty condition',
      webhook({ matchConditions: [{ name: 'a', expression: ' ' }] }),
      ['webhooks[0].matchConditions[0].expression'],
    ],
    ['no operations', webhook({ rules: [{ operations: [], rule: pods }] }), [`${RULE}.operations`]],
    ['all operations and one', webhook({ rules: [{ operations: ['*', 'CREATE'], rule: pods }] }), [`${RULE}.operations`]],
    ['an operation that is none', webhook({ rules: [{ operations: ['GET'], rule: pods }] }), [`${RULE}.operations[0]`]],
    ['no groups', ruled({ apiGroups: [] }), [`${RULE}.apiGroups`]],
    ['no version', ruled({ apiVersions: [''] }), [`${RULE}.apiVersions[0]`]],
    ['no resources', ruled({ resources: [] }), [`${RULE}.resources`]],
    ['all resources and one', ruled({ resources: ['*', 'pods'] }), [`${RULE}.resources`]],
    ['all resources and a subresource', ruled({ resources: ['*', 'pods/status'] }), []],
    ['all subresources and one', ruled({ resources: ['pods/*', 'pods/status'] }), [`${RULE}.resources[1]`]],
    ['all and all', ruled({ resources: ['*/*', 'pods'] }), [`${RULE}.resources`]],
    ['a scope that is none', ruled({ scope: 'Node' }), [`${RULE}.scope`]],
  ])('with %s: %s', (_what, given, fields) => expect(fieldsOf(given)).toEqual(fields));

  it('has a name of its own in its configuration', () => {
    expect(fieldsOf(webhook(), webhook())).toEqual(['webhooks[1].name']);
  });

  it("gets Kubernetes' defaults", () => {
    const object = { webhooks: [service({})] };
    mutating.defaults(object);
    expect(object.webhooks[0]).toMatchObject({
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      reinvocationPolicy: 'Never',
      clientConfig: { service: { port: 443 } },
      rules: [{ rule: { scope: '*' } }],
    });
  });

  it('is judged by the same rules where it only validates', () => {
    const object = { webhooks: [{ ...webhook({ name: 'a.b' }), reinvocationPolicy: undefined! }] };
    validating.defaults(object);
    expect(validating.validate(object).map(({ field }) => field)).toEqual(['webhooks[0].name']);
  });
});
