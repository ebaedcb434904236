import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { cronTabs } from './custom-kinds-harness.ts';
import { asks } from './kubernetes-asks.ts';

// Conditions that clients of Kubernetes write: of any type, and mostly without a rule for what is in them.
let server: RunningServer;
const ask = asks(() => server);

const MERGE = { 'content-type': 'application/merge-patch+json' };
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

it('a request for a certificate gets conditions of any type and labels through its subresource "approval"', async () => {
  const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const pem = execFileSync(
    ...(['openssl', ['req', '-new', '-newkey', 'rsa:2048', '-nodes', '-keyout', '/dev/null', '-subj', '/CN=a']] as const),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const spec = { request: pem.toString('base64'), signerName: 'example.com/a', usages: ['server auth'] };
  const body = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name: 'a' }, spec };
  expect(await ask(requests, { method: 'POST', body })).toMatchObject({ code: 201 });
  const approval = `${requests}/a/approval`;
  const patch = (sent: object) => ask(approval, { method: 'PATCH', headers: MERGE, body: sent });

  const odd = { type: 'Looked', status: 'True', reason: 'Test' };
  const looked = await patch({ metadata: { labels: { a: 'b' } }, spec: { usages: [] }, status: { conditions: [odd] } });
  expect(looked).toMatchObject({ code: 200, json: { metadata: { labels: { a: 'b' } }, spec: { usages: ['server auth'] } } });
  expect(looked.json.status.conditions).toMatchObject([odd]);

  const conditions = [odd, { type: 'Approved', status: 'True', reason: 'Test' }];
  const approved = await ask(approval, { method: 'PUT', body: { ...looked.json, status: { conditions } } });
  expect(approved.json.status.conditions).toMatchObject([{ type: 'Looked' }, { type: 'Approved' }]);

  expect(await patch({ status: { conditions: [odd] } })).toMatchObject({
    code: 422,
    json: { details: { causes: [{ field: 'status.conditions', reason: 'FieldValueForbidden' }] } },
  });
  const bad = await patch({ metadata: { labels: { 'not a label': 'b' } } });
  expect([bad.code, bad.json.message]).toEqual([422, expect.stringContaining('metadata.labels')]);
});

it('two conditions of one type are taken, and refused only of kinds of which Kubernetes refuses them', async () => {
  const conditions = [
    { type: 'A', status: 'True' },
    { type: 'A', status: 'False' },
  ];
  const workload = {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
  };
  const write = async (path: string, apiVersion: string, kind: string, spec: object) => {
    expect((await ask(path, { method: 'POST', body: { apiVersion, kind, metadata: { name: 'twice' }, spec } })).code).toBe(201);
    return ask(`${path}/twice/status`, { method: 'PATCH', headers: MERGE, body: { status: { conditions } } });
  };
  const kept = await write('/apis/apps/v1/namespaces/default/deployments', 'apps/v1', 'Deployment', workload);
  expect([kept.code, kept.json.status.conditions]).toMatchObject([200, conditions]);
  const refused = await write('/apis/policy/v1/namespaces/default/poddisruptionbudgets', 'policy/v1', 'PodDisruptionBudget', {});
  expect(refused).toMatchObject({
    code: 422,
    json: { details: { causes: [{ field: 'status.conditions[1].type', reason: 'FieldValueDuplicate' }] } },
  });
});

it('the status of a definition takes a condition that has only a message', async () => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const made = await ask(definitions, { method: 'POST', body: cronTabs() });
  expect(made.code).toBe(201);
  const status = `${definitions}/${made.json.metadata.name}/status`;
  const add = [{ op: 'add', path: '/status/conditions', value: [{ type: '', status: '', message: 'added' }] }];
  const patched = await ask(status, { method: 'PATCH', headers: JSON_PATCH, body: add });
  expect(patched).toMatchObject({ code: 200 });
  expect(patched.json.status.conditions.at(-1)).toMatchObject({ message: 'added' });
  // The server adds its own meanwhile, and refuses a write of the version before.
  const put = async () => {
    const { metadata } = (await ask(status)).json;
    return ask(status, { method: 'PUT', body: { ...patched.json, metadata } });
  };
  let answer = await put();
  while (answer.code === 409) answer = await put();
  expect(answer).toMatchObject({ code: 200, json: { status: { conditions: [{ message: 'added' }] } } });
});
