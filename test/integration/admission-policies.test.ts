import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { Audit } from '../../apiserver/audit/audit.ts';
import { type BulkResult, type BulkWrite, type Client, connect, type JsonObject } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let client: Client;
const warnings: string[] = [];
const audited: Record<string, unknown>[] = [];
const metrics = new MetricsRegistry();
const audit = new Audit(
  { rules: [{ level: 'Metadata' }] },
  { add: (line) => void audited.push(JSON.parse(line)) },
  () => new Date(),
);

async function start(dataDir?: string): Promise<void> {
  server = await startServer({ backend: 'lmdb', audit, metrics, ...(dataDir !== undefined && { dataDir }) });
  client = connect({ ...server.admin, onWarning: (text) => void warnings.push(text) });
}
beforeAll(() => start());
afterAll(async () => {
  client.close();
  await server.stop();
  await server.remove();
});

const maps = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] };
const map = (name: string, data: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  metadata: { namespace: 'default', name, ...more },
  data,
});
const at = (name: string) => ({ namespace: 'default', name });
const good = "!has(object.data) || !('bad' in object.data)";

/** Puts a policy "p" in force with one binding "b", in place of those before. */
async function enforce(spec: JsonObject, binding: JsonObject = {}): Promise<void> {
  const { objects } = client;
  await objects.delete('ValidatingAdmissionPolicyBinding', { name: 'b' }).catch(() => {});
  await objects.delete('ValidatingAdmissionPolicy', { name: 'p' }).catch(() => {});
  warnings.length = 0;
  audited.length = 0;
  const whole = { matchConstraints: { resourceRules: [maps] }, ...spec };
  await objects.create('ValidatingAdmissionPolicy', { metadata: { name: 'p' }, spec: whole });
  const bound = { policyName: 'p', validationActions: ['Deny'], ...binding };
  await objects.create('ValidatingAdmissionPolicyBinding', { metadata: { name: 'b' }, spec: bound });
}

const refusal = (message: string, code = 'INVALID_ARGUMENT', reason = 'Invalid') => ({
  code,
  reason,
  message: expect.stringContaining(`ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${message}`),
});
const create = (object: JsonObject) => client.objects.create('ConfigMap', object);

describe('a ValidatingAdmissionPolicy', () => {
  it('is in force with the next request after its binding, on every way to write', async () => {
    await create(map('old', { bad: 'x' }));
    await create(map('fine', { a: 'b' }));
    await enforce({ validations: [{ expression: `object == null || (${good})`, message: 'no bad keys' }] });
    const no = refusal('no bad keys');
    const { objects } = client;
    await expect(create(map('new', { bad: 'x' }))).rejects.toMatchObject(no);
    await expect(create(map('', { bad: 'x' }, { generateName: 'new-' }))).rejects.toMatchObject(no);
    await expect(objects.update('ConfigMap', map('fine', { bad: 'x' }))).rejects.toMatchObject(no);
    const patch = { data: { bad: 'x' } };
    await expect(objects.patch('ConfigMap', at('fine'), patch)).rejects.toMatchObject(no);
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...map('fine', { bad: 'x' }) };
    const options = { fieldManager: 'm', force: true };
    await expect(objects.apply('ConfigMap', applied, options)).rejects.toMatchObject(no);
    await expect(objects.apply('ConfigMap', { ...applied, ...map('other', { bad: 'x' }) }, options)).rejects.toMatchObject(no);
    const writes: BulkWrite[] = [
      { verb: 'create', kind: 'ConfigMap', object: { apiVersion: 'v1', kind: 'ConfigMap', ...map('bulk', { bad: 'x' }) } },
      { verb: 'create', kind: 'ConfigMap', object: { apiVersion: 'v1', kind: 'ConfigMap', ...map('bulk-fine') } },
    ];
    const results: BulkResult<BulkWrite>[] = [];
    for await (const result of objects.bulk(writes)) results.push(result);
    results.sort((a, b) => a.index - b.index);
    expect(results.map((each) => ('error' in each && each.error ? (each.error as { code: string }).code : 'OK'))).toEqual([
      'INVALID_ARGUMENT',
      'OK',
    ]);
    expect((await client.configMaps.get(at('fine'))).data).toEqual({ a: 'b' });
    await expect(create(map('dry', { bad: 'x' }))).rejects.toMatchObject(no);
  });

  it('judges deletions by what is there, also those of a collection', async () => {
    const locked = { labels: { set: 'locked' } };
    await enforce({
      validations: [{ expression: "request.operation != 'DELETE' || !has(oldObject.metadata.labels)", reason: 'Forbidden' }],
    });
    await create(map('keep', {}, locked));
    const no = { code: 'PERMISSION_DENIED', reason: 'Forbidden' };
    await expect(client.objects.delete('ConfigMap', at('keep'))).rejects.toMatchObject(no);
    const scope = { namespace: 'default', labelSelector: 'set=locked' };
    await expect(client.objects.deleteCollection('ConfigMap', scope)).rejects.toMatchObject(no);
    await expect(client.configMaps.get(at('keep'))).resolves.toBeTruthy();
  });

  it('knows the caller, the namespace, variables, and what the object was', async () => {
    await enforce({
      variables: [
        { name: 'before', expression: 'oldObject == null ? 0 : size(oldObject.data)' },
        { name: 'grown', expression: 'size(object.data) - variables.before' },
      ],
      validations: [
        {
          expression: 'variables.grown <= 1',
          messageExpression:
            "request.userInfo.username + ' adds ' + string(variables.grown) + ' keys in ' + namespaceObject.metadata.name",
        },
      ],
      matchConditions: [{ name: 'named', expression: "object != null && object.metadata.name.startsWith('counted')" }],
    });
    await create(map('uncounted', { a: '1', b: '2', c: '3' }));
    await create(map('counted', { a: '1' }));
    await client.objects.update('ConfigMap', map('counted', { a: '1', b: '2' }));
    await expect(client.objects.update('ConfigMap', map('counted', { a: '', b: '', c: '', d: '' }))).rejects.toMatchObject(
      refusal('admin adds 2 keys in default'),
    );
  });

  it('warns, and tells the audit log, where its binding says so', async () => {
    await enforce(
      {
        validations: [{ expression: 'false', message: 'never' }],
        auditAnnotations: [{ key: 'size', valueExpression: "'has ' + string(size(object.data))" }],
      },
      { validationActions: ['Warn', 'Audit'] },
    );
    await create(map('warned', { a: 'b' }));
    expect(warnings).toEqual(["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': never"]);
    const line = audited.find(({ name, verb }) => name === 'warned' && verb === 'create');
    expect(line).toMatchObject({
      code: 'OK',
      annotations: {
        'p/size': 'has 1',
        'validation.policy.admission.k8s.io/validation_failure': expect.stringContaining('"message":"never"'),
      },
    });
  });

  it('has parameters, which count as they are at the request', async () => {
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: { resourceRules: [{ ...maps, resources: ['secrets'] }] },
      validations: [{ expression: 'size(object.metadata.name) <= int(params.data.most)' }],
    };
    const paramRef = { name: 'limits', namespace: 'default', parameterNotFoundAction: 'Deny' };
    await enforce(spec, { paramRef });
    const secret = (name: string) => client.objects.create('Secret', { metadata: { namespace: 'default', name } });
    await expect(secret('abc')).rejects.toMatchObject(refusal('failed to configure binding: no params found'));
    await enforce({ ...spec, failurePolicy: 'Ignore' }, { paramRef });
    await secret('ab');
    await enforce(spec, { paramRef, validationActions: ['Warn'] });
    await expect(secret('abc')).rejects.toMatchObject(refusal('failed to configure binding: no params found'));
    await enforce(spec, { paramRef });
    await create(map('limits', { most: '3' }));
    await secret('abc');
    await expect(secret('abcd')).rejects.toMatchObject(refusal('failed expression: size(object.metadata.name)'));
    await client.objects.update('ConfigMap', map('limits', { most: '4' }));
    await secret('abcd');
    await enforce(spec, { paramRef: { ...paramRef, name: 'none', parameterNotFoundAction: 'Allow' } });
    await secret('abcdefgh');
    await enforce(spec, { paramRef: { selector: { matchLabels: { of: 'b' } }, parameterNotFoundAction: 'Deny' } });
    await create(map('more', { most: '5' }, { labels: { of: 'b' } }));
    await expect(secret('abcdefghi')).rejects.toMatchObject(refusal('failed expression'));
  });

  it('refuses what it cannot judge, unless its failure policy is Ignore', async () => {
    const validations = [{ expression: "object.data.missing == 'x'" }];
    await enforce({ validations });
    await expect(create(map('f1', { a: 'b' }))).rejects.toMatchObject(
      refusal("expression 'object.data.missing == 'x'' resulted in error: no such key"),
    );
    await enforce({ validations, failurePolicy: 'Ignore' });
    await create(map('f2', { a: 'b' }));
    const matchConditions = [{ name: 'wrong', expression: "object.data.missing == 'x'" }];
    await enforce({ validations: [{ expression: 'false' }], matchConditions });
    await expect(create(map('f2b', { a: 'b' }))).rejects.toMatchObject(refusal('match condition "wrong"'));
    await enforce({ validations: [{ expression: 'false' }], matchConditions, failurePolicy: 'Ignore' });
    await create(map('f2b', { a: 'b' }));
    const ring = 'object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a + b + c + d != ""))))';
    await enforce({ validations: [{ expression: ring }] });
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 'v']));
    await expect(create(map('f3', many))).rejects.toMatchObject({
      message: expect.stringMatching(/policy 'p' .* running out of cost budget .* bound the lists/i),
    });
  });

  it.each<[string, JsonObject, string]>([
    ['is wrong', { validations: [{ expression: 'object.x ==' }] }, 'spec.validations[0].expression'],
    ['names no variable', { validations: [{ expression: 'nothing == 1' }] }, 'spec.validations[0].expression'],
    ['is no condition', { validations: [{ expression: '1 + 1' }] }, 'spec.validations[0].expression'],
    ['names a later variable', { variables: [{ name: 'a', expression: 'variables.b' }] }, 'spec.variables[0].expression'],
    [
      'asks the authorizer nothing that it knows',
      { validations: [{ expression: "authorizer.path('/x').allowed()" }] },
      'spec.validations[0].expression',
    ],
    [
      'tells in its message what the user may do',
      { validations: [{ expression: 'true', messageExpression: "authorizer.path('/x').check('get').reason()" }] },
      'spec.validations[0].messageExpression',
    ],
    [
      'is a wrong match condition',
      { matchConditions: [{ name: 'mine', expression: 'object.' }] },
      'correct the match condition "mine"',
    ],
  ])('with an expression that %s is refused with the path', async (_, spec, told) => {
    const whole = { matchConstraints: { resourceRules: [maps] }, validations: [{ expression: 'true' }], ...spec };
    const wrong = { metadata: { name: 'wrong' }, spec: whole };
    await expect(client.objects.create('ValidatingAdmissionPolicy', wrong)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(told),
    });
  });

  it('with several mistakes is refused with all of them at once', async () => {
    const validations: JsonObject[] = [{ expression: '' }, { expression: 'object.x ==', reason: 'Nothing' }, { message: 'only' }];
    const refused = enforce({ validations, variables: [{ name: 'a-b', expression: '1' }] });
    const { violations } = (await refused.catch((error) => error)) as { violations: { field: string; description: string }[] };
    expect(violations.map(({ field }) => field).sort()).toEqual([
      'spec.validations[0].expression',
      'spec.validations[1].expression',
      'spec.validations[1].reason',
      'spec.validations[2].expression',
      'spec.variables[0].name',
    ]);
    expect(violations.find(({ field }) => field === 'spec.validations[0].expression')?.description).toBe('is required');
  });

  it('names the variable that fails', async () => {
    await enforce({
      variables: [{ name: 'most', expression: 'int(object.data.most)' }],
      validations: [{ expression: 'variables.most < 5' }],
    });
    await expect(create(map('v1', { most: 'many' }))).rejects.toMatchObject(
      refusal(`expression 'variables.most < 5' resulted in error: composited variable "most" fails to evaluate:`),
    );
  });

  it('does not judge policies themselves, so that a wrong one can be taken away', async () => {
    const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] };
    await enforce({ matchConstraints: { resourceRules: [everything] }, validations: [{ expression: 'false' }] });
    await expect(create(map('any'))).rejects.toMatchObject(refusal('failed expression: false'));
    await enforce({ validations: [{ expression: 'true' }] });
    await create(map('any'));
  });

  it('judges subresources by their own objects', async () => {
    const scale = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['deployments/scale'] };
    await enforce({
      matchConstraints: { resourceRules: [scale] },
      validations: [{ expression: "object.kind == 'Scale' && object.spec.replicas <= oldObject.spec.replicas + 1" }],
    });
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x' }] } };
    const spec = { replicas: 1, selector: { matchLabels: { a: 'b' } }, template };
    await client.objects.create('Deployment', { metadata: at('web'), spec });
    const to = (replicas: number) =>
      client.objects.patch('Deployment', { ...at('web'), subresource: 'scale' }, { spec: { replicas } });
    await to(2);
    await expect(to(9)).rejects.toMatchObject(refusal('failed expression'));
  });

  it('is in force after a restart before anything is served, and stands in the metrics', async () => {
    await enforce({ validations: [{ expression: good, message: 'no bad keys' }] });
    client.close();
    await server.stop();
    await start(server.dataDir);
    await expect(create(map('new', { bad: 'x' }))).rejects.toMatchObject(refusal('no bad keys'));
    const page = formatMetrics(metrics, 'prometheus');
    expect(page).toMatch(/check_total\{policy="p",policy_binding="b",error_type="no_error",enforcement_action="deny"\} \d/);
  });
});
