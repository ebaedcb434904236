import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { cronTabs, establish } from './custom-kinds-harness.ts';
import { asks, writes } from './kubernetes-asks.ts';

// What the door of Kubernetes' API refuses, with Kubernetes' codes and words.
let server: RunningServer;
const ask = asks(() => server);

const { post, put } = writes(ask);
const inDefault = '/api/v1/namespaces/default';
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'x' }] } };
const told = ({ code, json }: { readonly code: number; readonly json: { reason: string; message: string } }) => [
  ...[code, json.reason, json.message],
];

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  await post(`${inDefault}/pods`, pod);
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

describe('a body', () => {
  it('of another kind is named by the kind that it says', async () => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    expect(told(await post(`${inDefault}/pods`, map))).toEqual([
      ...[400, 'BadRequest'],
      'ConfigMap in version "v1" cannot be handled as a Pod: converting (v1.ConfigMap) to (core.Pod): unknown conversion',
    ]);
    const set = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'a' } };
    expect(told(await post('/apis/apps/v1/namespaces/default/deployments', set))).toEqual([
      ...[400, 'BadRequest'],
      'StatefulSet in version "v1" cannot be handled as a Deployment: ' +
        'converting (v1.StatefulSet) to (apps.Deployment): unknown conversion',
    ]);
  });

  it('of a deletion that holds another object deletes nothing', async () => {
    await post(`${inDefault}/configmaps`, { metadata: { name: 'kept', labels: { a: 'b' } } });
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' } };
    for (const path of ['configmaps/kept', 'configmaps?labelSelector=a%3Db']) {
      expect(told(await ask(`${inDefault}/${path}`, { method: 'DELETE', body }))).toEqual([
        ...[400, 'BadRequest'],
        'the body of a delete must hold DeleteOptions, not "ConfigMap"',
      ]);
    }
    expect((await ask(`${inDefault}/configmaps/kept`)).code).toBe(200);
    const options = { apiVersion: 'v1', kind: 'DeleteOptions' };
    expect((await ask(`${inDefault}/configmaps/kept`, { method: 'DELETE', body: options })).code).toBe(200);
  });

  it('of a custom kind names its kind and version', async () => {
    await establish(server, cronTabs());
    const path = '/apis/stable.example.com/v1/namespaces/default/crontabs';
    const body = { metadata: { name: 'c' }, spec: { cronSpec: '* * * * *' } };
    const apiVersion = 'stable.example.com/v1';
    expect(told(await post(path, { ...body, apiVersion }))).toEqual([
      400,
      'BadRequest',
      "the object provided is unrecognized (must be of type CronTab): Object 'Kind' is missing",
    ]);
    expect(told(await post(path, { ...body, kind: 'CronTab' }))).toEqual([
      400,
      'BadRequest',
      'the API version in the data () does not match the expected API version (stable.example.com/v1)',
    ]);
    const other = await post(path, { ...body, apiVersion, kind: 'Other' });
    expect([other.code, other.json.reason, other.json.details.causes]).toEqual([
      422,
      'Invalid',
      [{ reason: 'FieldValueInvalid', message: 'Invalid value: "Other": must be CronTab', field: 'kind' }],
    ]);
    expect((await post(path, { ...body, apiVersion, kind: 'CronTab' })).code).toBe(201);
  });

  it('of a custom object may name finalizers without a domain, which the maker is told of', async () => {
    const path = '/apis/stable.example.com/v1/namespaces/default/crontabs';
    const metadata = { name: 'held', finalizers: ['resources-finalizer.example.com', 'example.com/x', 'foregroundDeletion'] };
    const held = { apiVersion: 'stable.example.com/v1', kind: 'CronTab', metadata, spec: { cronSpec: '* * * * *' } };
    const { code, headers } = await post(path, held);
    expect([code, headers.warning]).toEqual([
      201,
      `299 - "metadata.finalizers: \\"resources-finalizer.example.com\\": prefer a domain-qualified finalizer name ` +
        'including a path (/) to avoid accidental conflicts with other finalizer writers"',
    ]);
    const map = { metadata: { name: 'held', finalizers: ['resources-finalizer.example.com'] } };
    expect((await post(`${inDefault}/configmaps`, map)).json.message).toContain('metadata.finalizers[0]: Invalid value');
  });

  it('of a custom kind that is being deleted is not allowed', async () => {
    const path = '/apis/stable.example.com/v1/namespaces/default/crontabs';
    const [kind, spec] = ['CronTab', { cronSpec: '* * * * *' }];
    const metadataOf = (name: string) => ({ name, finalizers: ['example.com/x'] });
    const tab = (name: string) => ({ apiVersion: 'stable.example.com/v1', kind, metadata: metadataOf(name), spec });
    expect((await post(path, tab('stays'))).code).toBe(201);
    await ask('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com', { method: 'DELETE' });
    const { code, json } = await post(path, tab('late'));
    expect([code, json]).toMatchObject([
      405,
      {
        ...{ reason: 'MethodNotAllowed', details: { group: 'stable.example.com', kind: 'crontabs' } },
        message: 'create not allowed while custom resource definition is terminating',
      },
    ]);
  });

  it('with a resourceVersion is no new object, and one that is no number is invalid', async () => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'versioned', resourceVersion: '5' } };
    const made = await post(`${inDefault}/configmaps`, map);
    expect([made.code, made.json.message]).toEqual([
      422,
      expect.stringContaining('resourceVersion should not be set on objects to be created'),
    ]);
    const named = (resourceVersion: string) => ({ ...map, metadata: { name: 'versioned', resourceVersion } });
    expect((await post(`${inDefault}/configmaps`, named('0'))).code).toBe(201);
    expect((await put(`${inDefault}/configmaps/versioned`, named('0'))).code).toBe(200);
    expect((await put(`${inDefault}/configmaps/versioned`, named('1'))).code).toBe(409);
    expect(told(await put(`${inDefault}/configmaps/versioned`, named('abc')))).toEqual([
      ...[422, 'Invalid'],
      'ConfigMap "versioned" is invalid: metadata.resourceVersion: Invalid value: "abc": ' +
        'strconv.ParseUint: parsing "abc": invalid syntax',
    ]);
  });

  it('of a Scale with fewer than no replicas is an invalid Scale', async () => {
    const template = { metadata: { labels: { app: 's' } }, spec: pod.spec };
    const spec = { replicas: 0, selector: { matchLabels: { app: 's' } }, template };
    const path = '/apis/apps/v1/namespaces/default/deployments';
    await post(path, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 's' }, spec });
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 's' }, spec: { replicas: -1 } };
    const refused = await put(`${path}/s/scale`, scale);
    expect(told(refused)).toEqual([
      ...[422, 'Invalid'],
      'Scale.autoscaling "s" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ]);
    expect(refused.json.details).toMatchObject({ name: 's', group: 'autoscaling', kind: 'Scale' });
  });
});

it('a request for two hosts is a bad one', async () => {
  const [host, port] = server.info.kubernetes!.split(':');
  const socket = connect({ ...server.admin, host, port: Number(port), servername: 'localhost' });
  socket.end(`GET ${inDefault}/pods HTTP/1.1\r\nHost: a\r\nHOST: b\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const piece of socket) text += piece;
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toContain('the request has more than one header \\"host\\": send one');
});

describe('a path', () => {
  it('of an object of a namespace without it, and of a cluster-wide one in one, is no resource', async () => {
    for (const path of ['/api/v1/pods/p', `${inDefault}/nodes`, `${inDefault}/nodes/n`])
      expect(told(await ask(path))).toEqual([404, 'NotFound', 'the server could not find the requested resource']);
  });

  it('that goes on behind a subresource is no resource', async () => {
    for (const path of ['pods/p/status/x', 'pods/p/log/x', 'pods/p/binding/x', 'pods/p/exec/x', 'pods/p/ephemeralcontainers/x/y'])
      expect(told(await ask(`${inDefault}/${path}`))).toEqual([
        ...[404, 'NotFound', 'the server could not find the requested resource'],
      ]);
    const status = { ...pod, status: { message: 'a' } };
    expect((await put(`${inDefault}/pods/p/status/x`, status)).code).toBe(404);
    expect((await post(`${inDefault}/pods/p/eviction/x`, {})).code).toBe(404);
  });

  it('of all namespaces takes no new object', async () => {
    expect(told(await post('/api/v1/pods', pod))).toEqual([
      ...[405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource'],
    ]);
  });

  it('of the log of a pod without a node names a container of the pod', async () => {
    expect((await ask(`${inDefault}/pods/p/log`)).code).toBe(200);
    expect(told(await ask(`${inDefault}/pods/p/log?container=other`))).toEqual([
      ...[400, 'BadRequest', 'container other is not valid for pod p'],
    ]);
  });
});

it('a role with more than its writer holds is forbidden in the words that programs look for', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  const rules = [
    { apiGroups: [apiGroup], resources: ['clusterroles', 'clusterrolebindings'], verbs: ['create'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  ];
  const large = { metadata: { name: 'large' }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }] };
  const bindingOf = (name: string) => ({
    ...{ metadata: { name }, subjects: [{ kind: 'User', name: 'rita', apiGroup }] },
    roleRef: { apiGroup, kind: 'ClusterRole', name },
  });
  await post(`${rbac}/clusterroles`, { metadata: { name: 'writer' }, rules });
  await post(`${rbac}/clusterrolebindings`, bindingOf('writer'));
  const headers = { 'impersonate-user': 'rita', 'impersonate-group': 'team' };
  const asRita = (resource: string, body: object) => ask(`${rbac}/${resource}`, { method: 'POST', body, headers });
  const forbidden = (resource: string) => [
    ...[403, 'Forbidden'],
    `${resource}.rbac.authorization.k8s.io "large" is forbidden: user "rita" (groups=["team" "system:authenticated"]) ` +
      'is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
  ];
  const refused = await asRita('clusterroles', large);
  expect(told(refused)).toEqual(forbidden('clusterroles'));
  expect(refused.json.details).toEqual({ name: 'large', group: apiGroup, kind: 'clusterroles' });
  await post(`${rbac}/clusterroles`, large);
  expect(told(await asRita('clusterrolebindings', bindingOf('large')))).toEqual(forbidden('clusterrolebindings'));
});

describe('a review', () => {
  const authorization = '/apis/authorization.k8s.io/v1';
  const asked = (kind: string, spec: object, metadata: object = {}) => ({
    ...{ apiVersion: 'authorization.k8s.io/v1', kind, metadata, spec },
  });

  it.each([
    ['selfsubjectaccessreviews', asked('SelfSubjectAccessReview', {}), ['spec.resourceAttributes']],
    ['subjectaccessreviews', asked('SubjectAccessReview', {}), ['spec.resourceAttributes', 'spec.user']],
    [
      'subjectaccessreviews',
      asked('SubjectAccessReview', { user: 'a', resourceAttributes: {}, nonResourceAttributes: { path: '/' } }, { name: 'a' }),
      ['metadata', 'spec.nonResourceAttributes'],
    ],
    [
      'namespaces/default/localsubjectaccessreviews',
      asked('LocalSubjectAccessReview', { user: 'a', resourceAttributes: { namespace: 'other' } }),
      ['spec.resourceAttributes.namespace'],
    ],
  ])('that asks nothing clear is invalid, field by field: %s', async (path, body, fields) => {
    const { code, json } = await post(`${authorization}/${path}`, body);
    expect([code, json.reason, json.details.causes.map(({ field }: { field: string }) => field)]).toEqual([
      422,
      'Invalid',
      fields,
    ]);
    expect(json.details).toMatchObject({ group: 'authorization.k8s.io', kind: body.kind });
  });

  it('of no token, or of the rules of no namespace, is a bad request', async () => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: {} };
    expect(told(await post('/apis/authentication.k8s.io/v1/tokenreviews', review))).toEqual([
      ...[400, 'BadRequest', 'token is required for TokenReview in authentication'],
    ]);
    const rules = asked('SelfSubjectRulesReview', {});
    expect(told(await post(`${authorization}/selfsubjectrulesreviews`, rules))).toEqual([
      ...[400, 'BadRequest', 'no namespace on request'],
    ]);
  });
});

it('a negative time to end is one second', async () => {
  const bound = { ...pod, metadata: { name: 'bound' }, spec: { ...pod.spec, nodeName: 'n1' } };
  await post(`${inDefault}/pods`, bound);
  const deleted = await ask(`${inDefault}/pods/bound?gracePeriodSeconds=-1`, { method: 'DELETE' });
  expect([deleted.code, deleted.json.metadata.deletionGracePeriodSeconds]).toEqual([200, 1]);
});

it('a table of objects in a form that is none is refused', async () => {
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  expect(told(await ask(`${inDefault}/pods?includeObject=All`, { headers }))).toEqual([
    ...[400, 'BadRequest'],
    `Unable to convert to Table as requested: includeObject: Invalid value: "All": must be 'Metadata', 'Object', 'None', or empty`,
  ]);
});
