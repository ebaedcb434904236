import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Client, connect, type JsonObject } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { cronTabs, establish } from './custom-kinds-harness.ts';

let server: RunningServer;
let client: Client;
beforeAll(async () => {
  server = await startServer({ backend: 'lmdb' });
  client = connect(server.admin);
});
afterAll(async () => {
  client.close();
  await server.stop();
  await server.remove();
});

const KIND = 'ValidatingAdmissionPolicy';
const about = (apiGroups: string[], resources: string[]) => ({
  resourceRules: [{ apiGroups, apiVersions: ['v1'], operations: ['*'], resources }],
});

/** The status once it is about the present generation. */
function checked(name: string, generation = 1): Promise<JsonObject> {
  return vi.waitFor(async () => {
    const { status } = (await client.objects.get(KIND, { name })) as { status?: JsonObject };
    expect(status?.observedGeneration).toBe(generation);
    return status!;
  });
}

describe('the status of a policy', () => {
  it('tells what does not fit the types of the kinds that it names, for each generation', async () => {
    const wrong = {
      expression: "object.spec.replicas > '1'",
      messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
    };
    const spec = { matchConstraints: about(['apps'], ['deployments', 'statefulsets']), validations: [wrong] };
    await client.objects.create(KIND, { metadata: { name: 'a' }, spec });
    const why = (kind: string, operator: string, types: string) =>
      `apps/v1, Kind=${kind}: found no matching overload for '_${operator}_' applied to '${types}' (at character 1)`;
    expect(await checked('a')).toEqual({
      observedGeneration: 1,
      typeChecking: {
        expressionWarnings: [
          {
            fieldRef: 'spec.validations[0].expression',
            warning: `${why('Deployment', '>', '(int, string)')}\n${why('StatefulSet', '>', '(int, string)')}`,
          },
          {
            fieldRef: 'spec.validations[0].messageExpression',
            warning: `${why('Deployment', '+', '(string, int)')}\n${why('StatefulSet', '+', '(string, int)')}`,
          },
        ],
      },
    });
    await client.objects.patch(KIND, { name: 'a' }, { spec: { validations: [{ expression: 'object.spec.replicas > 1' }] } });
    expect(await checked('a', 2)).toEqual({ observedGeneration: 2, typeChecking: {} });
  });

  it('knows the schemas of custom kinds', async () => {
    await establish(server, cronTabs());
    const validations = [{ expression: "object.spec.replicas > '1'" }, { expression: 'object.spec.maxRetries < 10' }];
    const spec = { matchConstraints: about(['stable.example.com'], ['crontabs']), validations };
    await client.objects.create(KIND, { metadata: { name: 'b' }, spec });
    const { typeChecking } = (await checked('b')) as { typeChecking?: JsonObject };
    expect(typeChecking).toEqual({
      expressionWarnings: [
        { fieldRef: 'spec.validations[0].expression', warning: expect.stringContaining("'_>_' applied to '(int, string)'") },
        { fieldRef: 'spec.validations[1].expression', warning: expect.stringContaining("undefined field 'maxRetries'") },
      ],
    });
  });

  it('is written for rules with many words, whose combinations are too many to list', async () => {
    const words = Array.from({ length: 1_000 }, (_, i) => `w${i}`);
    const rule = { apiGroups: [...words, 'apps'], apiVersions: [...words, 'v1'], resources: [...words, 'deployments'] };
    const spec = {
      matchConstraints: { resourceRules: [{ ...rule, operations: ['*'] }] },
      validations: [{ expression: "object.spec.replicas > '1'" }],
    };
    await client.objects.create(KIND, { metadata: { name: 'many' }, spec });
    const warning = expect.stringContaining('apps/v1, Kind=Deployment: ');
    expect(await checked('many')).toEqual({
      observedGeneration: 1,
      typeChecking: { expressionWarnings: [{ fieldRef: 'spec.validations[0].expression', warning }] },
    });
  });

  it('says nothing of kinds that are not named, or not there', async () => {
    const validations = [{ expression: "object.spec.replicas > '1'" }];
    for (const [name, constraints] of Object.entries({
      all: about(['*'], ['*']),
      parts: about(['apps'], ['deployments/scale', '*']),
      unknown: about(['nothing.example.com'], ['things']),
    })) {
      await client.objects.create(KIND, { metadata: { name }, spec: { matchConstraints: constraints, validations } });
      expect(await checked(name)).toEqual({ observedGeneration: 1, typeChecking: {} });
    }
  });
});
