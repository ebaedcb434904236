import type { Client, JsonObject } from '../../client/index.ts';
import type { BadHooks } from './bad-hooks.ts';

/** Something of one namespace that judges slowly, without an end, or not at all. */
export interface BadRule {
  readonly name: string;
  /** In a second of the server's processor. */
  readonly callsPerSecond: number;
  /** What puts it in force; none for what is bad by the call alone. */
  objects(hooks: BadHooks): readonly { readonly kind: string; readonly object: JsonObject }[];
  /** A call that it judges; those that are refused reject. */
  call(client: Client): Promise<unknown>;
  /** How the refusal begins or goes on; absent: the call succeeds, if late. */
  readonly refused?: string;
}

export const badNamespace = 'bad';

/** As often as busy controllers call: an endless expression takes 13 ms of each call, the schema 110 ms. */
const WAITING_CALLS = 20;
const COMPUTING_CALLS = 5;
const SCHEMA_CALLS = 1;

const selector = { matchLabels: { 'kubernetes.io/metadata.name': badNamespace } };
const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];

/** A create of another namespace, as long as nothing judges it. */
export const createConfigMap = (client: Client): Promise<unknown> =>
  client.objects.create('ConfigMap', { metadata: { namespace: badNamespace, generateName: 'bad-' }, data: { key: 'x' } });

function webhook(name: string, clientConfigOf: (hooks: BadHooks) => JsonObject, refused?: string): BadRule {
  return {
    name: `a webhook that ${name}`,
    callsPerSecond: WAITING_CALLS,
    call: createConfigMap,
    ...(refused !== undefined && { refused }),
    objects: (hooks) => {
      const clientConfig = clientConfigOf(hooks);
      const checks = { namespaceSelector: selector, rules, sideEffects: 'None', admissionReviewVersions: ['v1'] };
      const webhooks = [{ name: 'bad.example.com', clientConfig, timeoutSeconds: 1, ...checks }];
      return [{ kind: 'ValidatingWebhookConfiguration', object: { metadata: { name: 'bad' }, webhooks } }];
    },
  };
}

/** A million turns of the innermost loop. */
const endless = 'abcdef'
  .split('')
  .reduceRight((inner, each) => `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(${each}, ${inner})`, 'a + b + c + d + e + f > 0');

const endlessPolicy: BadRule = {
  name: 'an endless expression',
  callsPerSecond: COMPUTING_CALLS,
  call: createConfigMap,
  refused: 'running out of cost budget',
  objects: () => {
    const matchConstraints = { namespaceSelector: selector, resourceRules: rules };
    const spec = { matchConstraints, validations: [{ expression: endless }] };
    const binding = { policyName: 'bad', validationActions: ['Deny'] };
    return [
      { kind: 'ValidatingAdmissionPolicy', object: { metadata: { name: 'bad' }, spec } },
      { kind: 'ValidatingAdmissionPolicyBinding', object: { metadata: { name: 'bad' }, spec: binding } },
    ];
  },
};

const definition = (name: string, spec: JsonObject): JsonObject => ({
  metadata: { name: `${name}s.bench.example.com` },
  spec: {
    group: 'bench.example.com',
    scope: 'Namespaced',
    names: { plural: `${name}s`, kind: name.slice(0, 1).toUpperCase() + name.slice(1) },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } },
    ],
  },
});

/** An engine that goes back tries as many ways through this text as there are sums of its length. */
const patterned = definition('pattern', { type: 'object', properties: { key: { type: 'string', pattern: '^((a+)+)+$' } } });
const nearly = `${'a'.repeat(16_384)}b`;

const badPattern: BadRule = {
  name: 'a pattern that goes back without an end elsewhere',
  callsPerSecond: COMPUTING_CALLS,
  objects: () => [{ kind: 'CustomResourceDefinition', object: patterned }],
  call: (client) =>
    client.objects.create('Pattern.bench.example.com', {
      metadata: { namespace: badNamespace, generateName: 'bad-' },
      spec: { key: nearly },
    }),
  refused: 'should match',
};

/** 600 KB as JSON: 9,450 fields with defaults and bounds. */
const wide = (): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 450 }, (_, i) => [
      `group-${i}`,
      {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 20 }, (__, j) => [`key-${j}`, { type: 'string', maxLength: 100, default: 'a' }]),
        ),
      },
    ]),
  ),
});
const huge = definition('huge', wide());

const hugeSchema: BadRule = {
  name: 'checks of a schema of 600 KB',
  callsPerSecond: SCHEMA_CALLS,
  objects: () => [],
  call: (client) => client.objects.create('CustomResourceDefinition', huge, { dryRun: ['All'] }),
};

export const badRules: readonly BadRule[] = [
  webhook('answers after half a second', (hooks) => hooks.at('/slow')),
  webhook('never answers', (hooks) => hooks.at('/silent'), 'context deadline exceeded'),
  webhook('redirects to itself', (hooks) => hooks.at('/loop'), 'status 302'),
  webhook('has a certificate of others', (hooks) => hooks.distrusted('/good'), 'certificate'),
  { ...webhook('answers without an end', (hooks) => hooks.at('/huge'), 'more than'), callsPerSecond: COMPUTING_CALLS },
  endlessPolicy,
  badPattern,
  hugeSchema,
];
