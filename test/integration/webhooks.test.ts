import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { Audit } from '../../apiserver/audit/audit.ts';
import { connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Handler, patchOf, startWebhooks, type WebhookServer } from './webhook-harness.ts';

// Admission webhooks as the API server meets them: good ones, and all sorts of bad ones.
let server: RunningServer;
let hooks: WebhookServer;
const metrics = new MetricsRegistry();
const made: [string, string][] = [];
const audited: Record<string, unknown>[] = [];
const audit = new Audit(
  { rules: [{ level: 'Metadata' }] },
  { add: (line) => void audited.push(JSON.parse(line)) },
  () => new Date(),
);
const audits = (name: string) => audited.find((line) => line.name === name && line.verb === 'create')?.annotations;
let count = 0;

beforeAll(async () => {
  [server, hooks] = await Promise.all([startServer({ metrics, audit }), startWebhooks()]);
});
afterEach(async () => {
  for (const [kind, name] of made.splice(0)) await server.client.objects.delete(kind, { name });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
  hooks.close();
});

const configMaps = { operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };

/** A webhook of a configuration of its own; it is gone after the test. */
async function register(type: 'Mutating' | 'Validating', handler: Handler, changes: JsonObject = {}, name = `h${++count}`) {
  const path = `/${name}`;
  hooks.handle(path, handler);
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: hooks.at(path),
    rules: [configMaps],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...changes,
  };
  const kind = `${type}WebhookConfiguration`;
  await server.client.objects.create(kind, { metadata: { name }, webhooks: [webhook] });
  made.push([kind, name]);
  return { path, name: webhook.name };
}

const mapOf = (name: string, data: JsonObject = {}): JsonObject => ({ metadata: { namespace: 'default', name }, data });
const create = (name: string, data: JsonObject = {}) => server.client.objects.create('ConfigMap', mapOf(name, data));
const key = (name: string) => ({ namespace: 'default', name });
const allow: Handler = () => ({ allowed: true });

describe('a validating webhook', () => {
  it('is asked with the request as Kubernetes has it, and refuses with its name and words', async () => {
    const { path, name } = await register('Validating', ({ object }) =>
      (object as { data?: JsonObject }).data?.bad
        ? { allowed: false, status: { message: 'bad is bad', code: 422 } }
        : { allowed: true },
    );
    await create('good', { a: 'b' });
    await expect(create('worse', { bad: 'x' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`admission webhook "${name}" denied the request: bad is bad`),
    });
    await expect(server.client.objects.patch('ConfigMap', key('good'), { data: { bad: 'x' } })).rejects.toThrow('bad is bad');
    expect((await server.client.objects.get('ConfigMap', key('good'))).data).toEqual({ a: 'b' });
    const [first, , third] = hooks.asked(path);
    expect(first).toMatchObject({
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
      name: 'good',
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'admin', groups: expect.arrayContaining(['system:masters']) },
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'good' }, data: { a: 'b' } },
      oldObject: null,
      dryRun: false,
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
    });
    expect(third).toMatchObject({ operation: 'UPDATE', oldObject: { data: { a: 'b' } }, object: { data: { a: 'b', bad: 'x' } } });
  });

  it('sees deletions where its rules say so', async () => {
    await create('kept');
    await register('Validating', () => ({ allowed: false }), { rules: [{ ...configMaps, operations: ['DELETE'] }] });
    await expect(server.client.objects.delete('ConfigMap', key('kept'))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'BadRequest',
      message: expect.stringContaining('denied the request without explanation'),
    });
    expect(await server.client.objects.get('ConfigMap', key('kept'))).toBeDefined();
  });

  it('is not asked where its selectors and conditions do not match', async () => {
    const deny: Handler = () => ({ allowed: false });
    await register('Validating', deny, { objectSelector: { matchLabels: { a: 'b' } } });
    await register('Validating', deny, { namespaceSelector: { matchLabels: { a: 'b' } } });
    await register('Validating', deny, {
      matchConditions: [{ name: 'named', expression: "request.operation == 'CREATE' && object.metadata.name == 'x'" }],
    });
    await create('unmatched');
    await expect(create('x')).rejects.toThrow('denied');
  });

  it('is never asked about configurations of webhooks, so that a wrong one can be taken away', async () => {
    const { path } = await register('Validating', () => ({ allowed: false }), {
      rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }],
    });
    await expect(create('nothing')).rejects.toThrow('denied');
    await register('Validating', allow);
    expect(hooks.asked(path)).toHaveLength(1);
  });

  it('is called beside others, and of several refusals the first in order counts', async () => {
    let together = 0;
    let most = 0;
    const slow =
      (message: string): Handler =>
      async () => {
        most = Math.max(most, ++together);
        while (most < 2) await new Promise((resolve) => setImmediate(resolve));
        together--;
        return { allowed: false, status: { message } };
      };
    await register('Validating', slow('second'), {}, 'order-b');
    await register('Validating', slow('first'), {}, 'order-a');
    await expect(create('both')).rejects.toThrow('first');
    expect(most).toBe(2);
  });

  it('warns the client, also with a refusal', async () => {
    await register('Validating', ({ name }) => ({ allowed: name === 'warned', warnings: [`mind the gap: ${name}`] }));
    const warnings: string[] = [];
    const client = connect({ ...server.admin, onWarning: (text) => void warnings.push(text) });
    await client.objects.create('ConfigMap', mapOf('warned'));
    await expect(client.objects.create('ConfigMap', mapOf('refused'))).rejects.toThrow('denied');
    client.close();
    expect(warnings).toEqual(['mind the gap: warned', 'mind the gap: refused']);
  });

  it('is told that a request is a dry run', async () => {
    const { path } = await register('Validating', allow, { sideEffects: 'NoneOnDryRun' });
    await server.client.objects.create('ConfigMap', mapOf('dry'), { dryRun: ['All'] });
    expect(hooks.asked(path)).toMatchObject([{ dryRun: true, options: { dryRun: ['All'] } }]);
  });
});

describe('a bad webhook', () => {
  const lie: Handler = () => ({ allowed: true, uid: 'another' });
  const huge: Handler = (_, response) => {
    response.end('x'.repeat(4 * 1024 * 1024));
    return undefined;
  };
  const silent: Handler = () => undefined;
  const broken: Handler = (_, response) => {
    response.writeHead(500).end('oops');
    return undefined;
  };
  const switching: Handler = (_, { socket }) => {
    socket!.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    return undefined;
  };
  const informing: Handler = (_, { socket }) => {
    const timer = setInterval(() => socket!.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 1);
    socket!.once('close', () => clearInterval(timer));
    return undefined;
  };
  const garbage: Handler = (_, response) => {
    response.end('<html>');
    return undefined;
  };
  it.each<[string, 'Mutating' | 'Validating', Handler, JsonObject, string]>([
    ['that answers another request', 'Validating', lie, {}, 'expected response.uid='],
    ['that answers too much', 'Validating', huge, {}, 'the answer has more than 3145728 bytes'],
    ['that does not answer', 'Validating', silent, { timeoutSeconds: 1 }, 'context deadline exceeded: no answer within 1s'],
    ['that switches the protocol', 'Validating', switching, {}, 'the connection was closed before an answer came'],
    ['that never gets beyond 1xx', 'Validating', informing, {}, 'too many 1xx informational responses'],
    ['that answers with an error', 'Validating', broken, {}, 'status 500'],
    ['that answers no JSON', 'Validating', garbage, {}, 'the answer is no JSON: "<html>"'],
    ['that validates and answers a patch', 'Validating', () => patchOf([]), {}, 'may not answer a patch'],
    [
      'whose patch does not apply',
      'Mutating',
      () => patchOf([{ op: 'remove', path: '/x' }]),
      {},
      'response.patch cannot be applied',
    ],
    ['whose patch is none', 'Mutating', () => ({ ...patchOf([]), patch: 'e30=' }), {}, 'response.patch cannot be read'],
    [
      'that makes another object of it',
      'Mutating',
      () => patchOf([{ op: 'replace', path: '/metadata/name', value: 'other' }]),
      {},
      'response.patch may not change metadata.name',
    ],
    ['that sets a wrong type', 'Mutating', () => patchOf([{ op: 'add', path: '/data', value: 1 }]), {}, 'cannot be read'],
    ['that nothing listens for', 'Validating', allow, { clientConfig: { url: 'https://127.0.0.1:1/x' } }, 'ECONNREFUSED'],
    [
      'of a service that is not there',
      'Validating',
      allow,
      { clientConfig: { service: { namespace: 'default', name: 'none' } } },
      'service "none" in namespace "default" not found',
    ],
  ])('%s fails the request with one sentence, unless its failurePolicy is Ignore', async (_what, type, handler, changes, why) => {
    const { name } = await register(type, handler, { ...changes, failurePolicy: 'Fail' });
    const refusal = await create('refused').catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: 'INTERNAL',
      message: expect.stringMatching(new RegExp(`failed calling webhook "${name}": [^\\n]+`)),
    });
    expect((refusal as Error).message).toContain(why);
    const [kind, of] = made.at(-1)!;
    await server.client.objects.patch(
      kind,
      { name: of },
      { webhooks: [{ ...(await first(kind, of)), failurePolicy: 'Ignore' }] },
    );
    await create(`ignored-${count}`);
    const phase = kind === 'MutatingWebhookConfiguration' ? 'mutation' : 'validating';
    expect(audits(`ignored-${count}`)).toEqual({ [`failed-open.${phase}.webhook.admission.k8s.io/round_0_index_0`]: name });
  });

  const first = async (kind: string, name: string): Promise<JsonObject> =>
    (((await server.client.objects.get(kind, { name })) as JsonObject).webhooks as JsonObject[])[0]!;

  it('with a certificate of other authorities is not trusted', async () => {
    await register('Validating', allow, {
      clientConfig: { url: `https://127.0.0.1:${hooks.port}/x`, caBundle: hooks.otherAuthorities },
    });
    await expect(create('untrusted')).rejects.toThrow(/failed calling webhook .*certificate/);
  });

  it('that sets unknown fields changes the others, and the client is warned', async () => {
    const patch = [
      { op: 'add', path: '/data/more', value: 'x' },
      { op: 'add', path: '/what', value: 1 },
      { op: 'add', path: `/${'long'.repeat(1_000)}`, value: 1 },
    ];
    const { name } = await register('Mutating', () => patchOf(patch));
    const warnings: string[] = [];
    const client = connect({ ...server.admin, onWarning: (text) => void warnings.push(text) });
    const made = (await client.objects.create('ConfigMap', mapOf('newer', { own: 'x' }))) as JsonObject;
    client.close();
    expect(made).toMatchObject({ data: { more: 'x' } });
    expect(made).not.toHaveProperty('what');
    const of = (field: string) => `the webhook "${name}" set the unknown field "${field}`;
    expect(warnings).toEqual([of('what"'), expect.stringContaining(of('long'))]);
    expect(warnings[1]!.length).toBeLessThan(300);
  });

  it('that writes objects that it is called for runs into its time-out', async () => {
    let depth = 0;
    const { path } = await register(
      'Validating',
      async () => {
        await create(`loop-${++depth}`).catch(() => {});
        return { allowed: true };
      },
      { timeoutSeconds: 1 },
    );
    await expect(create('loop')).rejects.toThrow('no answer within 1s');
    expect(hooks.asked(path).length).toBeLessThan(2_000);
  });

  it('does not hold up writes of other objects, or other writers of the same', async () => {
    await create('held', { a: '0' });
    const { path } = await register('Validating', () => undefined, {
      timeoutSeconds: 2,
      matchConditions: [{ name: 'slow', expression: "object.data.?slow.orValue('') == 'yes'" }],
    });
    const held = server.client.objects
      .patch('ConfigMap', key('held'), { data: { slow: 'yes' } })
      .catch((error: unknown) => error);
    let isHeld = true;
    void held.then(() => {
      isHeld = false;
    });
    while (hooks.asked(path).length === 0) await new Promise((resolve) => setImmediate(resolve));
    await server.client.objects.patch('ConfigMap', key('held'), { data: { a: '1' } });
    await create('beside', { a: '1' });
    expect(isHeld).toBe(true);
    expect((await server.client.objects.get('ConfigMap', key('held'))).data).toEqual({ a: '1' });
    expect(await held).toMatchObject({ code: 'INTERNAL' });
  });
});

describe('mutating webhooks', () => {
  const set =
    (field: string, value: string): Handler =>
    () =>
      patchOf([{ op: 'add', path: `/data/${field}`, value }]);

  it('change new objects and changes, each what the one before left, in order of names', async () => {
    const seen: unknown[] = [];
    await register(
      'Mutating',
      ({ object }) => {
        seen.push((object as JsonObject).data);
        return patchOf([{ op: 'add', path: '/data/second', value: '2' }]);
      },
      {},
      'mutate-b',
    );
    await register('Mutating', set('first', '1'), {}, 'mutate-a');
    const object = await create('mutated', { own: '0' });
    expect(object.data).toEqual({ own: '0', first: '1', second: '2' });
    expect(seen).toEqual([{ own: '0', first: '1' }]);
    const changed = await server.client.objects.patch('ConfigMap', key('mutated'), { data: { first: null, own: '9' } });
    expect(changed.data).toEqual({ own: '9', first: '1', second: '2' });
  });

  it('are called once more when a later one has changed the object, where they want it', async () => {
    const again = await register('Mutating', () => ({ allowed: true }), { reinvocationPolicy: 'IfNeeded' }, 'again-a');
    const never = await register('Mutating', () => ({ allowed: true }), {}, 'again-b');
    const changes = await register('Mutating', set('late', 'yes'), { reinvocationPolicy: 'IfNeeded' }, 'again-c');
    await register('Mutating', set('late', 'yes'), {}, 'again-d');
    await create('again', { a: 'b' });
    expect(hooks.asked(again.path).map(({ object }) => (object as JsonObject).data)).toEqual([
      { a: 'b' },
      { a: 'b', late: 'yes' },
    ]);
    expect(hooks.asked(never.path)).toHaveLength(1);
    // The last patch leaves the object as it is.
    expect(hooks.asked(changes.path)).toHaveLength(1);
    const told = (of: string, mutated: boolean) => JSON.stringify({ configuration: of, webhook: `${of}.example.com`, mutated });
    expect(audits('again')).toEqual({
      'mutation.webhook.admission.k8s.io/round_0_index_0': told('again-a', false),
      'mutation.webhook.admission.k8s.io/round_0_index_1': told('again-b', false),
      'mutation.webhook.admission.k8s.io/round_0_index_2': told('again-c', true),
      'mutation.webhook.admission.k8s.io/round_0_index_3': told('again-d', false),
      'mutation.webhook.admission.k8s.io/round_1_index_0': told('again-a', false),
    });
  });

  it('get and change objects in the older version that their rule names', async () => {
    const { path } = await register(
      'Mutating',
      () => patchOf([{ op: 'add', path: '/spec/targetCPUUtilizationPercentage', value: 70 }]),
      {
        rules: [{ ...configMaps, apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers'] }],
      },
    );
    const scaler = await server.client.objects.create('HorizontalPodAutoscaler', {
      metadata: { namespace: 'default', name: 'scaler' },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
    });
    expect(hooks.asked(path)).toMatchObject([
      { kind: { version: 'v1' }, requestKind: { version: 'v2' }, object: { apiVersion: 'autoscaling/v1' } },
    ]);
    expect(scaler.spec).toMatchObject({
      metrics: [{ resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } }],
    });
  });

  it('make objects that are validated as all others', async () => {
    await register('Mutating', () => patchOf([{ op: 'add', path: '/metadata/labels', value: { 'not good': 'x' } }]));
    await expect(create('labelled')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('metadata.labels'),
    });
  });

  it('give a new role no rights that its maker lacks', async () => {
    const who = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'keeper' };
    const metadata = { namespace: 'default', name: 'keeper' };
    await server.client.roleBindings.create({ metadata, roleRef: { kind: 'ClusterRole', name: 'admin' }, subjects: [who] });
    const keeper = connect({ ...server.admin, impersonate: { user: 'keeper' } });
    const role = (name: string): JsonObject => ({
      metadata: { namespace: 'default', name },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    });
    await keeper.objects.create('Role', role('own'));
    const more = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
    const rules = [{ ...configMaps, apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'] }];
    await register('Mutating', () => patchOf([{ op: 'add', path: '/rules/-', value: more }]), { rules });
    await expect(keeper.objects.create('Role', role('wide'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    keeper.close();
  });
});

it('a condition that fails forbids the request without a call, unless failures are ignored or another one is false', async () => {
  const matchConditions = [{ name: 'mine', expression: "object.data.missing == 'x'" }];
  const { path, name } = await register('Validating', () => ({ allowed: false }), { matchConditions });
  await expect(create('failing')).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    reason: 'Forbidden',
    message: `configmaps "failing" is forbidden: admission webhook "${name}": match condition "mine": expression 'object.data.missing == 'x'' resulted in error: no such key: data`,
  });
  const [kind, configuration] = made.at(-1)!;
  const read = (await server.client.objects.get(kind, { name: configuration })) as { webhooks?: JsonObject[] };
  const change = (more: JsonObject) =>
    server.client.objects.patch(kind, { name: configuration }, { webhooks: [{ ...read.webhooks![0], ...more }] });
  await change({ failurePolicy: 'Ignore' });
  await create('failing');
  await change({ matchConditions: [...matchConditions, { name: 'no', expression: 'false' }] });
  await create('failing-too');
  expect(hooks.asked(path)).toEqual([]);
});

it('conditions that do not compile are refused with the configuration', async () => {
  const refusal = register('Validating', allow, { matchConditions: [{ name: 'a', expression: 'object.' }] });
  const wrong = { message: expect.stringContaining('webhooks[0].matchConditions[0].expression') };
  await expect(refusal).rejects.toMatchObject(wrong);
  await register('Validating', allow, { matchConditions: [{ name: 'a', expression: 'true' }] });
  const [kind, name] = made.at(-1)!;
  const { webhooks } = (await server.client.objects.get(kind, { name })) as { webhooks?: JsonObject[] };
  const change = { webhooks: [{ ...webhooks![0], matchConditions: [{ name: 'a', expression: 'object.' }] }] };
  await expect(server.client.objects.patch(kind, { name }, change)).rejects.toMatchObject(wrong);
  const asked = register('Validating', allow, {
    matchConditions: [{ name: 'a', expression: "authorizer.path('/').check('x')" }],
  });
  await expect(asked).rejects.toThrow('must evaluate to bool');
});

it('calls, refusals and failures are measured by webhook', async () => {
  const { name } = await register('Validating', () => ({ allowed: false }));
  await expect(create('measured')).rejects.toThrow('denied');
  const samples = (metric: string) => metrics.snapshot().find((each) => each.definition.name === metric)?.samples ?? [];
  expect(samples('apiserver_admission_webhook_rejection_count')).toContainEqual({
    labels: [name, 'validating', 'CREATE', 'no_error'],
    value: 1,
  });
  expect(samples('apiserver_admission_webhook_fail_open_count').length).toBeGreaterThan(5);
});
