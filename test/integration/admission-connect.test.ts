import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { asks } from './kubernetes-asks.ts';
import { type Handler, patchOf, startWebhooks, type WebhookServer } from './webhook-harness.ts';

// Calls that connect to pods, as webhooks and policies judge them: before the pod is looked for, so none is needed.
let server: RunningServer;
let hooks: WebhookServer;
let handler: Handler;
const ask = asks(() => server);
const pods = '/api/v1/namespaces/default/pods';
const key = { namespace: 'default', name: 'x' };
const refuse: Handler = ({ resource, subResource }) => ({
  allowed: false,
  status: { message: `no ${subResource} of ${(resource as JsonObject).resource}` },
});

beforeAll(async () => {
  [server, hooks] = await Promise.all([startServer({ kubernetesListen: '127.0.0.1:0' }), startWebhooks()]);
  hooks.handle('/connect', (request, response) => handler(request, response));
  const rule = {
    operations: ['CONNECT'],
    apiGroups: [''],
    apiVersions: ['v1'],
    resources: ['pods/*', 'services/proxy', 'nodes/proxy'],
  };
  for (const type of ['Mutating', 'Validating'])
    await server.client.objects.create(`${type}WebhookConfiguration`, {
      metadata: { name: 'connect' },
      webhooks: [
        {
          name: 'connect.example.com',
          clientConfig: hooks.at('/connect'),
          rules: [rule],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
});
afterEach(() => {
  handler = () => ({ allowed: true });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
  hooks.close();
});

async function all(frames: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of frames);
}

async function* nothing(): AsyncIterable<Uint8Array> {}

/** The status and message with which an upgrade is refused. */
async function upgrade(path: string, pod = 'x') {
  const { ca, cert, key: secret } = server.admin;
  const url = `wss://${server.info.kubernetes}${pods}/${pod}/${path}`;
  const ws = new WebSocket(url, ['v4.channel.k8s.io'], { ca, cert, key: secret });
  const [, response] = (await once(ws, 'unexpected-response')) as [unknown, IncomingMessage];
  let text = '';
  for await (const piece of response) text += piece;
  return { code: response.statusCode, message: JSON.parse(text).message as string };
}

describe('a webhook that refuses connections', () => {
  const denied = (what: string) => `admission webhook "connect.example.com" denied the request: no ${what}`;

  it.each([
    ['exec?command=id&stdout=true', 'exec of pods'],
    ['attach?stdout=true', 'attach of pods'],
    ['portforward?ports=80', 'portforward of pods'],
  ])('refuses an upgrade of %s', async (path, what) => {
    handler = refuse;
    expect(await upgrade(path)).toEqual({ code: 400, message: denied(what) });
  });

  it.each([
    [`${pods}/x/proxy/a/b`, 'proxy of pods'],
    ['/api/v1/namespaces/default/services/x/proxy/', 'proxy of services'],
    ['/api/v1/nodes/x/proxy/healthz', 'proxy of nodes'],
  ])('refuses %s', async (path, what) => {
    handler = refuse;
    const { code, json } = await ask(path);
    expect({ code, message: json.message }).toEqual({ code: 400, message: denied(what) });
  });

  it.each<[string, () => Promise<void>]>([
    ['exec', () => all(server.client.pods.exec(key, { command: ['id'] }).output())],
    ['attach', () => all(server.client.pods.attach(key, {}).output())],
    ['portforward', () => all(server.client.pods.portForward(key, 80).output())],
    ['exec', () => all(server.client.pods.readFiles(key, { path: '/a' }))],
    ['exec', () => server.client.pods.writeFiles(key, { path: '/a' }, nothing())],
  ])('refuses %s over gRPC', async (what, call) => {
    handler = refuse;
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: denied(`${what} of pods`) });
  });

  it('sees what is asked for, in the words of Kubernetes', async () => {
    const seen: JsonObject[] = [];
    handler = (request) => {
      seen.push(request);
      return { allowed: false };
    };
    await upgrade('exec?command=ls&command=-l&container=c&stdin=true&stdout=true');
    await ask(`${pods}/x/proxy/a/b?c=d`);
    expect(seen[0]).toMatchObject({
      operation: 'CONNECT',
      kind: { group: '', version: 'v1', kind: 'PodExecOptions' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      subResource: 'exec',
      ...key,
      object: { apiVersion: 'v1', kind: 'PodExecOptions', container: 'c', command: ['ls', '-l'], stdin: true, stdout: true },
      oldObject: null,
      userInfo: { username: 'admin' },
    });
    expect(seen[0]?.object).not.toHaveProperty('tty');
    expect(seen[1]?.object).toEqual({ apiVersion: 'v1', kind: 'PodProxyOptions', path: '/a/b' });
  });
});

it('a webhook changes the options, which later ones see, and which are those of the connection', async () => {
  const seen: JsonObject[] = [];
  handler = (request) => {
    seen.push(request.object as JsonObject);
    return seen.length === 1 ? patchOf([{ op: 'add', path: '/container', value: 'other' }]) : { allowed: true };
  };
  const spec = { containers: [{ name: 'own', image: 'x' }] };
  await server.client.pods.create({ metadata: { namespace: 'default', name: 'there' }, spec });
  expect(await upgrade('exec?command=id&stdout=true&container=own', 'there')).toEqual({
    code: 400,
    message: 'container other is not valid for pod there',
  });
  expect(seen).toMatchObject([{ command: ['id'] }, { command: ['id'], container: 'other' }]);
});

it('a policy refuses a command to some, and nothing else', async () => {
  const { objects } = server.client;
  await objects.create('ValidatingAdmissionPolicy', {
    metadata: { name: 'commands' },
    spec: {
      matchConstraints: {
        resourceRules: [{ operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/exec'] }],
      },
      validations: [{ expression: "!('rm' in object.command)", message: 'no rm' }],
    },
  });
  await objects.create('ValidatingAdmissionPolicyBinding', {
    metadata: { name: 'commands' },
    spec: { policyName: 'commands', validationActions: ['Deny'] },
  });
  expect(await upgrade('exec?command=rm&stdout=true')).toMatchObject({ code: 422, message: expect.stringContaining('no rm') });
  expect(await upgrade('exec?command=ls&stdout=true')).toMatchObject({ code: 404 });
});
