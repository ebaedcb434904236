import { describe, expect, it } from 'vitest';
import { messageTypes, withObjectMeta } from '../../cel/message-types.ts';
import { schemaTypes } from '../../cel/schema-types.ts';
import { compileSchema } from '../../schema/compile-schema.ts';
import { checkTypes } from './compile-policy.ts';

const deployment = messageTypes('berth.apps.v1.Deployment', true);
const pod = messageTypes('berth.core.v1.Pod', true);

/** What is said of one expression about an object of a type. */
function told(expression: string, object = deployment, spec: object = {}): string | undefined {
  return checkTypes({ spec: { ...spec, validations: [{ expression }] } }, { object }).get('spec.validations[0].expression');
}

describe('checking the types of a policy', () => {
  it.each([
    'object.spec.replicas > 1 && object.kind == "Deployment" && object.apiVersion.startsWith("apps/")',
    'object.metadata.labels["a"] == "b" && object.metadata.?annotations["x"].orValue("") == ""',
    'oldObject == null || null != object.spec || object.spec.replicas >= oldObject.spec.replicas',
    'object.spec.template.spec.containers.all(c, c.image != "" && c.ports.all(p, p.containerPort > 80))',
    'has(object.spec.template.spec.securityContext) && object.spec.paused',
    'object.metadata.creationTimestamp < timestamp("2030-01-01T00:00:00Z")',
    'object.spec.strategy.rollingUpdate.maxSurge == 1 || object.spec.strategy.rollingUpdate.maxSurge == "10%"',
    'request.operation == "CREATE" && authorizer.path("/x").check("get").allowed() && namespaceObject.metadata.name != ""',
  ])('finds nothing wrong with %s', (expression) => {
    expect(told(expression)).toBeUndefined();
  });

  it.each([
    ["object.spec.replicas > '1'", "found no matching overload for '_>_' applied to '(int, string)' (at character 1)"],
    ["'got ' + object.spec.replicas", "found no matching overload for '_+_' applied to '(string, int)'"],
    ['object.spec.replicaz > 1', "undefined field 'replicaz'"],
    ['oldObject.spec.template.spec.containers.all(c, c.imag == "")', "undefined field 'imag'"],
    ['object.metadata.labels.size() == "1"', "found no matching overload for '_==_' applied to '(int, string)'"],
    ['object.data.size() == 1', "undefined field 'data'"],
  ])('tells what is wrong with %s', (expression, why) => {
    expect(told(expression)).toContain(why);
  });

  it('looks at quantities and ports, numbers or texts, at no type', () => {
    expect(told('object.spec.containers[0].resources.limits["cpu"] == "1"', pod)).toBeUndefined();
    expect(told('object.spec.containers[0].livenessProbe.httpGet.port == 80', pod)).toBeUndefined();
  });

  it('gives variables their types, and those that do not compile any', () => {
    const variables = [
      { name: 'replicas', expression: 'object.spec.replicas' },
      { name: 'twice', expression: 'variables.replicas * 2' },
      { name: 'wrong', expression: 'object.spec.nothing' },
      { name: 'spec', expression: 'object.spec' },
    ];
    const spec = { variables };
    expect(told('variables.twice > 1 && variables.wrong > "x"', deployment, spec)).toBeUndefined();
    // What is no plain value is only known when there is one.
    expect(told('variables.spec.nothing > 1', deployment, spec)).toBeUndefined();
    expect(told('variables.twice > "1"', deployment, spec)).toContain("'_>_' applied to '(int, string)'");
  });

  it('knows parameters where their types are known', () => {
    const params = messageTypes('berth.core.v1.ConfigMap', true);
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const policy = { spec: { paramKind, validations: [{ expression: 'true', messageExpression: 'params.dat.a' }] } };
    expect([...checkTypes(policy, { object: deployment, params })]).toEqual([
      ['spec.validations[0].messageExpression', expect.stringContaining("undefined field 'dat'")],
    ]);
    expect(checkTypes(policy, { object: deployment }).size).toBe(0);
  });

  it('knows the fields of a schema, and all metadata', () => {
    const root = { type: 'object', properties: { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } } };
    const { schema } = compileSchema(root, { path: 'schema', isStored: true });
    const object = withObjectMeta(schemaTypes(schema!.root, true));
    expect(told('object.spec.replicas > 1 && object.metadata.labels["a"] == object.metadata.name', object)).toBeUndefined();
    expect(told('object.spec.maxRetries < 10', object)).toContain("undefined field 'maxRetries'");
    expect(told('object.spec.replicas > "1"', object)).toContain("'_>_' applied to '(int, string)'");
  });
});
