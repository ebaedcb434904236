import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Answer, asks } from './kubernetes-asks.ts';

// What Kubernetes' HTTP API says of what went wrong, in the words that its own server uses.
let server: RunningServer;
const ask = asks(() => server);

const pods = '/api/v1/namespaces/default/pods';
const maps = '/api/v1/namespaces/default/configmaps';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const podOf = (name: string, container: object = { name: 'a', image: 'x' }) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [container] } },
});
const mapOf = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } });
const deploymentOf = (name: string, more: object = {}) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'a', image: 'x' }] } },
    ...more,
  },
});
const post = (path: string, body: object | string, headers = {}) => ask(path, { method: 'POST', body, headers });
const put = (path: string, body: object) => ask(path, { method: 'PUT', body });

/** A failure as a Status; its message is among the details, so that one comparison shows all. */
const statusOf = ({ code, json }: Answer) => {
  expect(json).toMatchObject({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code });
  const { reason, message, details } = json;
  return { code, reason, message, ...(details && { details }) };
};

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('an object', () => {
  it('that is not there is not found, by its resource and group', async () => {
    expect(statusOf(await ask(`${pods}/x`))).toEqual({
      ...{ code: 404, reason: 'NotFound', message: 'pods "x" not found', details: { name: 'x', kind: 'pods' } },
    });
    expect(statusOf(await ask(`${deployments}/x`, { method: 'DELETE' }))).toEqual({
      ...{ code: 404, reason: 'NotFound', message: 'deployments.apps "x" not found' },
      details: { name: 'x', group: 'apps', kind: 'deployments' },
    });
    expect(statusOf(await post('/api/v1/namespaces/none/configmaps', mapOf('a')))).toMatchObject({
      ...{ message: 'namespaces "none" not found', details: { name: 'none', kind: 'namespaces' } },
    });
  });

  it('that binds a role that is not there does not find the role, for users who may not bind it', async () => {
    const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
    const bindingOf = (name: string, kind: string) => ({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: 'gone' },
    });
    const rules = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['*'] }];
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'binder' }, rules };
    await post('/apis/rbac.authorization.k8s.io/v1/clusterroles', role);
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'anna' }];
    await post(bindings, {
      ...bindingOf('binder', 'ClusterRole'),
      roleRef: { ...bindingOf('', 'ClusterRole').roleRef, name: 'binder' },
      subjects,
    });
    const asAnna = { 'impersonate-user': 'anna' };
    for (const [kind, plural] of [
      ['Role', 'roles'],
      ['ClusterRole', 'clusterroles'],
    ] as const)
      expect(statusOf(await post(bindings, bindingOf('x', kind), asAnna))).toEqual({
        ...{ code: 404, reason: 'NotFound', message: `${plural}.rbac.authorization.k8s.io "gone" not found` },
        details: { name: 'gone', group: 'rbac.authorization.k8s.io', kind: plural },
      });
    expect((await post(bindings, bindingOf('x', 'Role'))).code).toBe(201);
  });

  it('that is there already exists', async () => {
    await post(maps, mapOf('twice'));
    expect(statusOf(await post(maps, mapOf('twice')))).toEqual({
      ...{ code: 409, reason: 'AlreadyExists', message: 'configmaps "twice" already exists' },
      details: { name: 'twice', kind: 'configmaps' },
    });
  });

  it('that breaks rules is invalid, with a cause for each field', async () => {
    const one = statusOf(await post(pods, podOf('x', { name: 'a', image: 'x', imagePullPolicy: 'Never again' })));
    expect(one).toEqual({
      ...{ code: 422, reason: 'Invalid' },
      message:
        'Pod "x" is invalid: spec.containers[0].imagePullPolicy: Unsupported value: "Never again": ' +
        'supported values: "Always", "IfNotPresent", "Never"',
      details: {
        ...{ name: 'x', kind: 'Pod' },
        causes: [
          {
            ...{ reason: 'FieldValueNotSupported', field: 'spec.containers[0].imagePullPolicy' },
            message: 'Unsupported value: "Never again": supported values: "Always", "IfNotPresent", "Never"',
          },
        ],
      },
    });
    const two = statusOf(await post(deployments, deploymentOf('y', { replicas: -1, minReadySeconds: -1 })));
    expect(two.message).toMatch(
      /^Deployment\.apps "y" is invalid: \[spec\.\w+: Invalid value: -1: .*, spec\.\w+: Invalid value: -1: .*\]$/,
    );
    expect(two.details).toMatchObject({ name: 'y', group: 'apps', kind: 'Deployment', causes: [{}, {}] });
    const missing = statusOf(await post(pods, podOf('z', { name: 'a' })));
    expect(missing.message).toBe('Pod "z" is invalid: spec.containers[0].image: Required value');
  });

  it('that has changed since it was read is in conflict', async () => {
    const { json } = await post(maps, mapOf('changed'));
    await put(`${maps}/changed`, { ...json, data: { a: 'b' } });
    expect(statusOf(await put(`${maps}/changed`, { ...json, data: { a: 'c' } }))).toEqual({
      ...{ code: 409, reason: 'Conflict', details: { name: 'changed', kind: 'configmaps' } },
      message:
        'Operation cannot be fulfilled on configmaps "changed": the object has been modified; ' +
        'please apply your changes to the latest version and try again',
    });
    const other = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'f3b5' } };
    expect(statusOf(await ask(`${maps}/changed`, { method: 'DELETE', body: other })).message).toBe(
      'Operation cannot be fulfilled on ConfigMap "changed": the UID in the precondition (f3b5) does not match the UID in ' +
        `record (${json.metadata.uid}). The object might have been deleted and then recreated`,
    );
    const { uid, resourceVersion } = (await ask(`${maps}/changed`)).json.metadata;
    const old = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion: '1' } };
    expect(statusOf(await ask(`${maps}/changed`, { method: 'DELETE', body: old }))).toEqual({
      ...{ code: 409, reason: 'Conflict', details: { name: 'changed', kind: 'ConfigMap' } },
      message:
        'Operation cannot be fulfilled on ConfigMap "changed": the ResourceVersion in the precondition (1) does not match the ' +
        `ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    });
  });

  it('that is being deleted takes no new finalizers', async () => {
    const { json } = await post(maps, mapOf('leaving', { finalizers: ['example.com/a'] }));
    await ask(`${maps}/leaving`, { method: 'DELETE' });
    const finalizers = ['example.com/a', 'example.com/c', 'example.com/b'];
    const { message } = statusOf(await put(`${maps}/leaving`, mapOf('leaving', { uid: json.metadata.uid, finalizers })));
    expect(message).toBe(
      'ConfigMap "leaving" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being ' +
        'deleted, found new finalizers []string{"example.com/b", "example.com/c"}',
    );
  });

  it('is what the path says', async () => {
    await post(maps, mapOf('place'));
    expect(statusOf(await put(`${maps}/place`, mapOf('elsewhere')))).toEqual({
      ...{ code: 400, reason: 'BadRequest' },
      message: 'the name of the object (elsewhere) does not match the name on the URL (place)',
    });
    const far = statusOf(await post(maps, mapOf('place', { namespace: 'kube-system' })));
    expect(far.message).toBe('the namespace of the provided object does not match the namespace sent on the request');
    const version = statusOf(await post(maps, { ...mapOf('place'), apiVersion: 'v2' }));
    expect(version.message).toBe('the API version in the data (v2) does not match the expected API version (v1)');
    expect(version.code).toBe(400);
  });

  it('of a kind whose updates name a version is refused without one', async () => {
    const services = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec: {} };
    await post(services, lease);
    const { message } = statusOf(await put(`${services}/l`, lease));
    expect(message).toBe(
      'Lease.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
    );
  });

  it('with a value of a wrong type is a bad request, in the words of the decoder', async () => {
    expect(statusOf(await post(deployments, deploymentOf('y', { replicas: 'two' })))).toEqual({
      ...{ code: 400, reason: 'BadRequest' },
      message:
        'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string ' +
        'into Go struct field DeploymentSpec.spec.replicas of type int32',
    });
    const map = statusOf(await post(maps, { ...mapOf('typed'), data: { a: 5 } }));
    expect(map.message).toContain('json: cannot unmarshal number into Go struct field ConfigMap.data of type string');
  });

  it('with text of a wrong form is a bad request that says what the text must be', async () => {
    const container = (cpu: string) => ({ name: 'a', image: 'b', resources: { requests: { cpu } } });
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [container('1x')] } };
    expect(statusOf(await post('/api/v1/namespaces/default/pods', pod)).message).toBe(
      'Pod in version "v1" cannot be handled as a Pod: spec.containers[0].resources.requests[cpu]: ' +
        'wrong type: expected a quantity such as "100m", "1.5" or "2Gi", found string "1x"',
    );
    const secret = (data: unknown) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data });
    const { message } = statusOf(await post('/api/v1/namespaces/default/secrets', secret({ a: '@@@' })));
    // What is secret is not repeated.
    expect(message).toBe(
      'Secret in version "v1" cannot be handled as a Secret: data[a]: wrong type: expected base64 text, found a string; stringData takes plain text',
    );
    const whole = statusOf(await post('/api/v1/namespaces/default/secrets', secret('YQ==')));
    expect(whole.message).toContain('json: cannot unmarshal string into Go struct field Secret.data of type map[string][]uint8');
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec: { renewTime: 'now' } };
    expect(statusOf(await post('/apis/coordination.k8s.io/v1/namespaces/default/leases', lease)).message).toContain(
      'spec.renewTime: wrong type: expected a time such as "2026-01-31T12:00:00Z"',
    );
  });

  it('applied over the fields of others names them', async () => {
    const apply = (manager: string, replicas: number) =>
      ask(`${deployments}/shared?fieldManager=${manager}`, {
        ...{ method: 'PATCH', body: deploymentOf('shared', { replicas }) },
        headers: { 'content-type': 'application/apply-patch+yaml' },
      });
    await apply('first', 1);
    expect(statusOf(await apply('second', 2))).toMatchObject({
      ...{ code: 409, reason: 'Conflict', message: 'Apply failed with 1 conflict: conflict with "first": .spec.replicas' },
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "first"', field: '.spec.replicas' }] },
    });
  });
});

describe('a request', () => {
  it('that no role allows is forbidden, with what was asked for', async () => {
    await post('/api/v1/namespaces/default/serviceaccounts', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'u' },
    });
    const { json } = await post('/api/v1/namespaces/default/serviceaccounts/u/token', {});
    const { token } = json.status;
    const user = 'User "system:serviceaccount:default:u" cannot';
    const messageOf = async (method: string, path: string) => statusOf(await ask(path, { method, token })).message;
    expect(statusOf(await ask(pods, { token }))).toEqual({
      ...{ code: 403, reason: 'Forbidden', details: { kind: 'pods' } },
      message: `pods is forbidden: ${user} list resource "pods" in API group "" in the namespace "default"`,
    });
    expect(await messageOf('GET', `${deployments}/x`)).toBe(
      `deployments.apps "x" is forbidden: ${user} get resource "deployments" in API group "apps" in the namespace "default"`,
    );
    expect(await messageOf('GET', '/api/v1/nodes')).toBe(
      `nodes is forbidden: ${user} list resource "nodes" in API group "" at the cluster scope`,
    );
    expect(await messageOf('GET', `${pods}/x/log`)).toBe(
      `pods "x" is forbidden: ${user} get resource "pods/log" in API group "" in the namespace "default"`,
    );
    expect(await messageOf('GET', '/logs')).toBe(`forbidden: ${user} get path "/logs"`);
  });

  it('with a token that is not known is unauthorized', async () => {
    expect(statusOf(await ask(pods, { token: 'wrong' }))).toMatchObject({
      code: 401,
      reason: 'Unauthorized',
      message: 'Unauthorized',
    });
  });

  it('to a path at which there is nothing is not found', async () => {
    for (const path of ['/api/v1/things', '/apis/apps/v7/deployments', '/apis/nobody.io/v1/things/a', `${pods}/x/nothing`])
      expect(statusOf(await ask(path))).toEqual({
        ...{ code: 404, reason: 'NotFound', message: 'the server could not find the requested resource', details: {} },
      });
    const other = await ask('/nothing/here');
    expect([other.code, other.headers['content-type'], other.text]).toEqual([
      ...[404, 'text/plain; charset=utf-8', '404 page not found\n'],
    ]);
  });

  it('by a method that is not served is not allowed', async () => {
    const asked = [
      ...[ask(`${pods}/x`, { method: 'POST', body: podOf('x') }), ask(pods, { method: 'PUT', body: {} })],
      ...[ask('/api/v1/pods', { method: 'DELETE' }), ask(`${pods}/x/eviction`)],
    ];
    for (const answer of await Promise.all(asked))
      expect(statusOf(answer)).toMatchObject({
        ...{ code: 405, reason: 'MethodNotAllowed', details: { kind: 'pods' } },
        message: 'the server does not allow this method on the requested resource',
      });
  });

  it('for the head alone of an answer is not allowed', async () => {
    const { code, text } = await ask(pods, { method: 'HEAD' });
    expect([code, text]).toEqual([405, '']);
  });

  it('in a form that is not known says which are', async () => {
    const types = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
    const accept = statusOf(await ask(pods, { headers: { accept: 'text/html' } }));
    expect(accept).toMatchObject({ code: 406, reason: 'NotAcceptable' });
    expect(accept.message).toMatch(/^only the following media types are accepted: application\/json, /);
    expect(statusOf(await post(maps, 'x', { 'content-type': 'text/plain' }))).toEqual({
      ...{ code: 415, reason: 'UnsupportedMediaType' },
      message: `the body of the request was in an unknown format - accepted media types include: ${types}`,
    });
    const large = await post(maps, mapOf('large'), { 'content-length': String(5 * 1024 * 1024) });
    expect(statusOf(large)).toEqual({
      ...{ code: 413, reason: 'RequestEntityTooLarge', message: 'Request entity too large: limit is 4194304' },
    });
  });

  it('in a namespace that is being removed is forbidden, with the cause that controllers look for', async () => {
    const finalizers = ['example.com/wait'];
    await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'going', finalizers } });
    await ask('/api/v1/namespaces/going', { method: 'DELETE' });
    expect(statusOf(await post('/api/v1/namespaces/going/configmaps', mapOf('late')))).toMatchObject({
      ...{ code: 403, reason: 'Forbidden' },
      message: 'configmaps "late" is forbidden: unable to create new content in namespace going because it is being terminated',
      details: { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] },
    });
  });
});
