import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Handler, patchOf, startWebhooks, type WebhookServer } from './webhook-harness.ts';

// Webhooks are asked about what is created below an object, and may change it.
let server: RunningServer;
let hooks: WebhookServer;
const made: [string, string][] = [];

beforeAll(async () => {
  [server, hooks] = await Promise.all([startServer(), startWebhooks()]);
});
afterEach(async () => {
  for (const [kind, name] of made.splice(0)) await server.client.objects.delete(kind, { name });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
  hooks.close();
});

async function register(type: 'Mutating' | 'Validating', resource: string, handler: Handler): Promise<string> {
  const name = `${type}-${resource.replace('/', '-')}`.toLowerCase();
  hooks.handle(`/${name}`, handler);
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: hooks.at(`/${name}`),
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: [resource] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  const kind = `${type}WebhookConfiguration`;
  await server.client.objects.create(kind, { metadata: { name }, webhooks: [webhook] });
  made.push([kind, name]);
  return `/${name}`;
}

it('a request for a token is asked about, as Kubernetes has it, and changed before the token is made', async () => {
  const { serviceAccounts } = server.client;
  const account = { namespace: 'default', name: 'builder' };
  await serviceAccounts.create({ metadata: account });
  const path = await register('Mutating', 'serviceaccounts/token', () =>
    patchOf([{ op: 'replace', path: '/spec/expirationSeconds', value: 600 }]),
  );
  const { token = '' } = await serviceAccounts.createToken(account, { audiences: ['vault'] });
  const [, claims = ''] = token.split('.');
  const { exp, iat, aud } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, number>;
  expect([exp! - iat!, aud]).toEqual([600, ['vault']]);
  expect(hooks.asked(path)).toMatchObject([
    {
      kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
      resource: { group: '', version: 'v1', resource: 'serviceaccounts' },
      subResource: 'token',
      operation: 'CREATE',
      ...account,
      object: { spec: { audiences: ['vault'], expirationSeconds: 3600 } },
    },
  ]);
  await register('Validating', 'serviceaccounts/token', () => ({ allowed: false, status: { message: 'no tokens' } }));
  await expect(serviceAccounts.createToken(account, {})).rejects.toThrow('denied the request: no tokens');
});

it('a binding and an eviction are what webhooks make of them', async () => {
  const { nodes, pods } = server.client;
  for (const name of ['n1', 'n2']) await nodes.create({ metadata: { name } });
  const at = { namespace: 'default', name: 'moved' };
  await pods.create({ metadata: at, spec: { containers: [{ name: 'c', image: 'i' }] } });
  await register('Mutating', 'pods/binding', () => patchOf([{ op: 'replace', path: '/target/name', value: 'n2' }]));
  await pods.bind(at, 'n1');
  expect((await pods.get(at)).spec?.nodeName).toBe('n2');
  await register('Mutating', 'pods/eviction', () =>
    patchOf([{ op: 'add', path: '/deleteOptions', value: { gracePeriodSeconds: 7 } }]),
  );
  await pods.evict(at);
  expect((await pods.get(at)).metadata?.deletionGracePeriodSeconds).toBe(7);
});
