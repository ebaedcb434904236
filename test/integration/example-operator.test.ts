import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { createAuthority, issueCertificate } from '../../apiserver/pki/certificates.ts';
import { type Client, connect } from '../../client/index.ts';
import { runOperator } from '../../examples/operator/operator.ts';
import { startWebhook } from '../../examples/operator/webhook.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

// The operator of the examples and its webhook, with the permissions of its manifest, and the controllers.
let server: RunningServer;
let stopControllers: () => Promise<void>;
let operator: Client;
let running: Promise<void>;
const stop = new AbortController();
const kind = 'Website.example.com';
const hello = { namespace: 'default', name: 'hello' };

async function applyFile(name: string, edit = (text: string) => text): Promise<void> {
  const text = await readFile(new URL(`../../examples/operator/${name}`, import.meta.url), 'utf8');
  for (const document of parseAllDocuments(edit(text))) {
    const object = document.toJS() as JsonObject & { apiVersion: string; kind: string };
    const word = object.apiVersion.includes('example.com') ? kind : object.kind;
    await server.client.objects.create(word, object, { namespace: 'default', fieldValidation: 'Strict' });
  }
}

const read = () => server.client.objects.get(kind, hello) as Promise<{ metadata: JsonObject; status?: JsonObject }>;
const sitemap = async () => (await server.client.configMaps.get({ namespace: 'default', name: 'sitemap' })).data ?? {};

beforeAll(async () => {
  server = await startServer();
  stopControllers = await startControllers(server);
  await applyFile('website.yaml');
  const { token = '' } = await server.client.serviceAccounts.createToken({ namespace: 'default', name: 'website-operator' }, {});
  await until('the kind is served', () =>
    server.client.objects.list(kind).then(
      () => true,
      () => false,
    ),
  );
  operator = connect({ address: server.info.address, ca: server.info.ca, token });
  running = runOperator(operator, stop.signal);
});
afterAll(async () => {
  stop.abort();
  await running;
  operator.close();
  await stopControllers();
  await server.stop();
  await server.remove();
});

it('makes what a Website owns, tells its status, and mends what others change', async () => {
  await applyFile('hello.yaml');
  await until('the status is told', async () => (await read()).status?.phase !== undefined);
  expect(await read()).toMatchObject({
    metadata: { finalizers: ['example.com/sitemap'] },
    status: { observedGeneration: 1, readyReplicas: 0, phase: 'Starting' },
  });
  const { deployments, configMaps } = server.client;
  expect(await deployments.get(hello)).toMatchObject({
    metadata: { ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Website', name: 'hello', controller: true }] },
    spec: { replicas: 2 },
  });
  expect((await configMaps.get(hello)).data).toEqual({ 'index.html': '<h1>Hello from an operator</h1>' });
  expect(await sitemap()).toEqual({ hello: 'hello.default' });
  await deployments.patch({ ...hello, subresource: 'status' }, { status: { replicas: 2, readyReplicas: 2 } });
  await configMaps.patch(hello, { data: { 'index.html': 'meddled' } });
  await until('the page is mended', async () => (await configMaps.get(hello)).data?.['index.html']?.includes('Hello') === true);
  await server.client.objects.patch(kind, hello, { spec: { page: 'new', replicas: 3 } });
  await until('the new page is there', async () => (await configMaps.get(hello)).data?.['index.html'] === 'new');
  await until('the new size is applied', async () => (await deployments.get(hello)).spec?.replicas === 3);
  await until('the new generation is told', async () => (await read()).status?.observedGeneration === 2);
});

it('asks the webhook, which refuses Websites that would take more replicas than a namespace may have', async () => {
  const { objects, namespaces, validatingWebhookConfigurations } = server.client;
  const create = (namespace: string, name: string, replicas: number) => {
    const site = { apiVersion: 'example.com/v1', kind: 'Website', metadata: { namespace, name }, spec: { page: '', replicas } };
    return objects.create(kind, site, { namespace });
  };
  const resize = (replicas: number) => objects.patch(kind, hello, { spec: { replicas } });
  await create('default', 'large', 19);
  const now = new Date();
  const authority = await createAuthority('websites', now);
  const subject = { commonName: 'webhook', organizations: [] };
  const { certificate, key } = await issueCertificate(authority, subject, ['127.0.0.1'], now);
  const webhook = await startWebhook(operator, { certificate, key, port: 0 }, stop.signal);
  const { port } = webhook.address() as AddressInfo;
  const bundle = Buffer.from(authority.certificate).toString('base64');
  await applyFile('webhook.yaml', (text) =>
    text.replace('9443', String(port)).replace('caBundle: CA_BUNDLE', `caBundle: ${bundle}`),
  );
  const refused = {
    code: 'PERMISSION_DENIED',
    message: expect.stringMatching(
      /^admission webhook "replicas\.websites\.example\.com" denied the request: .* "default" would have 23 replicas, 20 are allowed$/,
    ),
  };
  await expect(resize(4)).rejects.toMatchObject(refused);
  await expect(create('default', 'more', 1)).rejects.toMatchObject(refused);
  // Still too many, but fewer.
  await resize(2);
  await namespaces.create({ metadata: { name: 'other' } });
  await create('other', 'elsewhere', 18);
  await validatingWebhookConfigurations.delete({ name: 'websites.example.com' });
  await objects.delete(kind, { namespace: 'default', name: 'large' });
  await until('it is off the list', async () => !('large' in (await sitemap())));
});

it('takes a Website that is deleted off its list, and what it owns goes with it', async () => {
  await server.client.objects.delete(kind, hello);
  const { deployments, configMaps } = server.client;
  for (const find of [read, () => deployments.get(hello), () => configMaps.get(hello)])
    await until('it is gone', () =>
      find().then(
        () => false,
        ({ code }) => code === 'NOT_FOUND',
      ),
    );
  expect(await sitemap()).toEqual({});
});
