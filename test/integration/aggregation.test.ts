import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { garbageCollector } from '../fakes/used-memory.ts';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type ExtensionServer, type ExtensionWorld, group, startExtension, version } from './extension-server.ts';
import { type Asked, asks } from './kubernetes-asks.ts';

// Groups that an extension server serves behind a Service: found, asked through a real agent, and told who calls. With
// the machine's own network a port of the pod is a port of this test.
let server: RunningServer;
let world: ExtensionWorld;
let extension: ExtensionServer;
let podUid: string;

const ask = asks(() => server);
const all = '/apis/apiregistration.k8s.io/v1/apiservices';
const name = `${version}.${group}`;
const root = `/apis/${group}/${version}`;
const flunders = `${root}/namespaces/default/flunders`;
const merge = { 'content-type': 'application/merge-patch+json' };

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  world = await startExtension(server);
  ({ extension, podUid } = world);
});
afterAll(async () => {
  await world.stop();
});
beforeEach(() => {
  extension.answer = undefined;
});

const conditionOf = async () => (await ask(`${all}/${name}`)).json.status?.conditions?.[0];
const isReason = (reason: string) => until(reason, async () => (await conditionOf())?.reason === reason);
/** The reason may be that already, for another cause: a look may have met a server that a test before let misbehave. */
const isFailing = (why: string) => until(why, async () => (await conditionOf())?.message.includes(why));
/** Changes the object, which is looked at soon after. */
const change = (spec: object) => ask(`${all}/${name}`, { method: 'PATCH', body: { spec }, headers: merge });
const touch = async () => {
  const { json } = await ask(`${all}/${name}`);
  await change({ versionPriority: (json.spec.versionPriority % 900) + 1 });
};

/** Makes a Service with one endpoint. */
async function serve(name: string, endpoint: object): Promise<void> {
  const metadata = { namespace: 'default', name };
  await server.client.services.create({ metadata, spec: { ports: [{ name: 'api', port: 443 }] } });
  await server.client.endpointSlices.create({
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.9.9.9'], ...endpoint }],
    ports: [{ name: 'api', port: extension.port }],
  });
}

describe('an APIService with a Service', () => {
  it('says step by step what it lacks, and is available when its server answers', async () => {
    const spec = {
      ...{ group, version, groupPriorityMinimum: 2000, versionPriority: 15 },
      service: { namespace: 'default', name: 'wardle', port: 443 },
      caBundle: Buffer.from(extension.ca).toString('base64'),
    };
    const object = { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name }, spec };
    expect((await ask(all, { method: 'POST', body: object })).code).toBe(201);
    await isReason('ServiceNotFound');
    const refused = await ask(flunders);
    expect([refused.code, refused.json.reason, refused.json.message]).toEqual([
      503,
      'ServiceUnavailable',
      'the server is currently unable to handle the request',
    ]);
    const metadata = { namespace: 'default', name: 'wardle' };
    const ports = [{ name: 'api', port: 444, targetPort: { type: 0, intVal: extension.port } }];
    const made = await server.client.services.create({ metadata, spec: { ports } });
    await isReason('ServicePortError');
    await server.client.services.update({ ...made, spec: { ...made.spec, ports: [{ ...ports[0], port: 443 }] } });
    await isReason('EndpointsNotFound');
    const slice = await server.client.endpointSlices.create({
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'wardle' } },
      addressType: 'IPv4',
      endpoints: [],
      ports: [{ name: 'api', port: extension.port }],
    });
    await isReason('MissingEndpoints');
    const targetRef = { kind: 'Pod', name: 'wardle', uid: podUid };
    await server.client.endpointSlices.update({
      ...slice,
      endpoints: [{ addresses: ['10.9.9.9'], conditions: { ready: true }, targetRef }],
    });
    await isReason('Passed');
    expect(extension.requests.at(-1)).toMatchObject({ url: root, user: 'system:kube-aggregator', groups: ['system:masters'] });
  });

  it('is shown with its Service', async () => {
    const { json } = await ask(`${all}/${name}`, { headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' } });
    expect(json.rows[0].cells.slice(0, 3)).toEqual([name, 'default/wardle', 'True']);
  });
});

describe('requests of its group', () => {
  it('are answered by the extension server, which is told who calls', async () => {
    const headers = {
      'impersonate-user': 'anna',
      'impersonate-group': ['system:masters', 'shop'],
      'impersonate-extra-a%2fb': 'c',
    };
    const body = { metadata: { name: 'one', namespace: 'default' } };
    const made = await ask(`${flunders}?fieldManager=x`, { method: 'POST', body, headers });
    expect([made.code, made.json.metadata.name]).toEqual([201, 'one']);
    const received = extension.requests.at(-1)!;
    expect(received).toMatchObject({ method: 'POST', url: `${flunders}?fieldManager=x`, user: 'anna' });
    expect(received.groups).toEqual(expect.arrayContaining(['system:masters', 'shop', 'system:authenticated']));
    expect(received.headers).toMatchObject({ 'x-remote-extra-a%2fb': 'c', host: 'wardle.default.svc' });
    expect(Object.keys(received.headers).filter((each) => /^(authorization|impersonate-)/.test(each))).toEqual([]);
    expect((await ask(flunders)).json.items).toHaveLength(1);
    expect((await ask(`${flunders}/one`, { method: 'DELETE' })).code).toBe(200);
    expect((await ask(`${flunders}/one`)).code).toBe(404);
  });

  it('cannot bring their own word of who calls', async () => {
    const forged = {
      'x-remote-user': 'root',
      'x-remote-group': 'system:masters',
      'X-Remote-Extra-Scopes': 'all',
      x_remote_user: 'root',
    };
    const as = { 'impersonate-user': 'anna', 'impersonate-group': 'system:masters' };
    expect((await ask(flunders, { headers: { ...forged, ...as } })).code).toBe(200);
    const { user, groups, headers } = extension.requests.at(-1)!;
    expect([user, groups]).toEqual(['anna', ['system:masters', 'system:authenticated']]);
    expect([headers['x-remote-extra-scopes'], headers.x_remote_user]).toEqual([undefined, undefined]);
  });

  it('are refused by this server when no role allows them, in the words of roles', async () => {
    const as = { 'impersonate-user': 'bob' };
    const before = extension.requests.length;
    const refused = await ask(flunders, { headers: as });
    expect([refused.code, refused.json.message]).toEqual([
      403,
      expect.stringContaining(`User "bob" cannot list resource "flunders" in API group "${group}" in the namespace "default"`),
    ]);
    const metadata = { namespace: 'default', name: 'bob' };
    const rules = [{ apiGroups: [group], resources: ['flunders'], verbs: ['list', 'patch'] }];
    await server.client.roles.create({ metadata, rules });
    const subjects = [{ kind: 'User', name: 'bob' }];
    await server.client.roleBindings.create({ metadata, roleRef: { kind: 'Role', name: 'bob' }, subjects });
    const codes = [];
    for (const [path, asked] of [
      [flunders, {}],
      [`${flunders}?watch=true`, {}],
      [`${flunders}/one`, {}],
      [`${flunders}/one`, { method: 'DELETE' }],
      [flunders, { method: 'DELETE' }],
      [`${flunders}/one/status`, {}],
      [`${flunders}/one/status`, { method: 'PATCH', body: {} }],
      [`${root}/flunders`, {}],
      [`${root}/namespaces/other/flunders`, {}],
    ] as [string, Asked][])
      codes.push((await ask(path, { ...asked, headers: as })).code);
    expect(codes).toEqual([200, 403, 403, 403, 403, 403, 403, 403, 403]);
    // Discovery is open to all users, as a read.
    const discovery = [
      (await ask(root, { headers: as })).code,
      (await ask(root, { method: 'POST', body: {}, headers: as })).code,
    ];
    expect(discovery).toEqual([200, 403]);
    // The list, and the checks of the server itself.
    const passed = extension.requests.slice(before).filter(({ user }) => user === 'bob');
    expect(passed.map(({ url, method }) => `${method} ${url}`)).toEqual([`GET ${flunders}`, `GET ${root}`]);
    // Decoded, it would be another namespace's.
    expect((await ask(`${root}/namespaces/default%2Fflunders/x/..%2f..%2f`, { headers: as })).code).toBe(404);
  });

  it('may be watches, whose events come as they are sent', async () => {
    const events: ((text: string) => void)[] = [];
    extension.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      events.push((text) => void response.write(text));
    };
    const [host, port] = server.info.kubernetes!.split(':');
    const { ca, cert, key } = server.admin;
    const call = request({ host, port, path: `${flunders}?watch=true`, ca, cert, key, agent: false });
    call.end();
    const [message] = (await once(call, 'response')) as [IncomingMessage];
    for (const text of ['{"type":"ADDED"}\n', '{"type":"DELETED"}\n']) {
      events.at(-1)!(text);
      expect(String((await once(message, 'data'))[0])).toBe(text);
    }
    call.destroy();
  });

  it('may switch the protocol of their connection', async () => {
    const [host, port] = server.info.kubernetes!.split(':');
    const { ca, cert, key } = server.admin;
    const headers = {
      connection: 'Upgrade',
      upgrade: 'echo',
      'x-remote-user': 'root',
      'impersonate-user': 'anna',
      'impersonate-group': 'system:masters',
    };
    const call = request({ host, port, path: `${flunders}/one/exec`, ca, cert, key, agent: false, headers });
    call.end();
    const [, socket, head] = (await once(call, 'upgrade')) as [IncomingMessage, Duplex, Buffer];
    let text = head.toString();
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.write('a\n');
    await until('the greeting and the echo', () => text === 'hello anna\na\n');
    socket.destroy();
  });
});

describe('what is told of its group', () => {
  const aggregated = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
  type Group = { readonly metadata: { readonly name: string }; readonly versions: { readonly freshness: string }[] };
  const discovered = async () =>
    (await ask('/apis', { headers: aggregated })).json.items.find(({ metadata }: Group) => metadata.name === group);

  it('stands in discovery of both forms', async () => {
    const { json } = await ask('/apis');
    expect(json.groups.find((each: { name: string }) => each.name === group)).toMatchObject({
      versions: [{ groupVersion: `${group}/${version}`, version }],
      preferredVersion: { version },
    });
    expect((await ask(`/apis/${group}`)).json).toMatchObject({ kind: 'APIGroup', name: group });
    expect((await ask(root)).json).toMatchObject({ kind: 'APIResourceList', resources: [{ name: 'flunders' }, {}] });
    expect(await discovered()).toMatchObject({
      versions: [
        {
          version,
          freshness: 'Current',
          resources: [
            {
              ...{ resource: 'flunders', scope: 'Namespaced', shortNames: ['fl'] },
              responseKind: { group, version, kind: 'Flunder' },
              subresources: [{ subresource: 'status' }],
            },
          ],
        },
      ],
    });
  });

  it('stands in the documents of OpenAPI', async () => {
    const { json: v2 } = await ask('/openapi/v2');
    expect(v2.definitions['com.example.wardle.v1alpha1.Flunder'].properties.spec.properties.weight.description).toBe('In grams.');
    expect(v2.paths[`${root}/namespaces/{namespace}/flunders/{name}`].patch.parameters).toMatchObject([{ name: 'dryRun' }]);
    expect(v2.definitions['io.k8s.api.core.v1.Pod']).toBeDefined();
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    expect((await ask('/openapi/v2', { headers: { accept } })).bytes.includes('In grams.')).toBe(true);
    const { json: index } = await ask('/openapi/v3');
    const { serverRelativeURL } = index.paths[`apis/${group}/${version}`];
    const { json: v3 } = await ask(serverRelativeURL);
    expect(Object.keys(v3.components.schemas)).toEqual(['com.example.wardle.v1alpha1.Flunder']);
  });

  it('is what the server said last while it does not answer, and nothing waits for it', async () => {
    // The time of a check ends also when garbage is collected while it waits.
    const collect = garbageCollector();
    extension.answer = () => void setImmediate(collect);
    // One of which no documents are known.
    const { json: known } = await ask(`${all}/${name}`);
    const other = { ...known, metadata: { name: `v1alpha2.${group}` }, spec: { ...known.spec, version: 'v1alpha2' } };
    expect((await ask(all, { method: 'POST', body: other })).code).toBe(201);
    await touch();
    await isReason('FailedDiscoveryCheck');
    const before = extension.requests.length;
    expect((await discovered()).versions[0]).toMatchObject({ freshness: 'Stale', resources: [{ resource: 'flunders' }] });
    expect((await ask('/openapi/v2')).code).toBe(200);
    expect((await ask('/openapi/v3')).code).toBe(200);
    expect((await ask(root)).code).toBe(503);
    // The checks alone ask it.
    const checked = [root, `/apis/${group}/v1alpha2`];
    expect(extension.requests.slice(before).filter(({ url }) => !checked.includes(url))).toEqual([]);
    await ask(`${all}/v1alpha2.${group}`, { method: 'DELETE' });
    extension.answer = undefined;
    await touch();
    await isReason('Passed');
  });
});

describe('an extension server that misbehaves', () => {
  it('may not redirect', async () => {
    extension.answer = (_, response) => void response.writeHead(302, { location: 'https://evil.example.com/' }).end();
    const { code, text, headers } = await ask(flunders);
    expect([code, headers.location]).toEqual([502, undefined]);
    expect(text).toBe('the backend attempted to redirect this request, which is not permitted');
  });

  it('that cuts its answers off, or answers nothing sensible, breaks its own requests alone', async () => {
    extension.answer = ({ socket }) => void socket.destroy();
    const { code, json } = await ask(flunders);
    expect([code, json.reason]).toEqual([503, 'ServiceUnavailable']);
    expect((await ask('/apis/apps/v1')).code).toBe(200);
  });

  it('is not available when its certificate is not of the authority that is named, or for another name', async () => {
    const other = (await ask('/authorities')).text;
    const { data = {} } = await server.client.configMaps.get({
      namespace: 'kube-system',
      name: 'extension-apiserver-authentication',
    });
    await change({ caBundle: Buffer.from(data['client-ca-file'] ?? other).toString('base64') });
    await isFailing('certificate');
    expect((await ask(flunders)).code).toBe(503);
    await change({ caBundle: null, insecureSkipTLSVerify: true });
    await isReason('Passed');
    expect((await ask(flunders)).code).toBe(200);
    await change({ caBundle: Buffer.from(extension.ca).toString('base64'), insecureSkipTLSVerify: null });
    await isReason('Passed');
    await serve('alias', { targetRef: { kind: 'Pod', name: 'wardle', uid: podUid } });
    await change({ service: { name: 'alias' } });
    await isFailing("alias.default.svc. is not in the cert's altnames");
    expect((await ask(flunders)).code).toBe(503);
    await change({ service: { name: 'wardle' } });
    await isReason('Passed');
  });

  it('is not available while it answers with errors, too much, or nothing', async () => {
    extension.answer = (_, response) => void response.writeHead(500).end();
    await touch();
    await isFailing('it answered with the status 500');
    const piece = Buffer.alloc(64 * 1024, ' ');
    extension.answer = (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', more);
      more();
    };
    await touch();
    await isFailing('has more than 1048576 bytes');
    extension.answer = () => {};
    await touch();
    await isFailing('no answer within 5 s');
    extension.answer = undefined;
    await touch();
    await isReason('Passed');
  });

  it('is not reached through endpoints that are forged', async () => {
    for (const address of ['127.0.0.1', '169.254.169.254'])
      await expect(serve(`at-${address}`.replaceAll('.', '-'), { addresses: [address] })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    await serve('forged', { targetRef: { kind: 'Pod', name: 'wardle', uid: 'another' } });
    const before = extension.requests.length;
    await change({ service: { name: 'forged' } });
    await isFailing('pod "wardle" is gone');
    expect(extension.requests.slice(before)).toEqual([]);
    await change({ service: { name: 'wardle' } });
    await isReason('Passed');
  });
});

it('what extension servers read comes back when it is changed or deleted', async () => {
  const at = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const role = { ...at, name: `${at.name}-reader` };
  const { data } = await server.client.configMaps.get(at);
  const read = async () => (await server.client.configMaps.get(at).catch(() => undefined))?.data;
  await server.client.configMaps.patch(at, { data: { 'requestheader-allowed-names': '[]' } });
  await expect.poll(read, { timeout: 20_000 }).toEqual(data);
  await server.client.configMaps.delete(at);
  await expect.poll(read, { timeout: 20_000 }).toEqual(data);
  const { rules } = await server.client.roles.get(role);
  await server.client.roles.delete(role);
  const rulesNow = async () => (await server.client.roles.get(role).catch(() => undefined))?.rules;
  await expect.poll(rulesNow, { timeout: 20_000 }).toEqual(rules);
});

it('the front proxy has no rights at the server itself', async () => {
  const [cert, key] = await Promise.all(
    ['crt', 'key'].map((ending) => readFile(`${server.dataDir}/pki/front-proxy-client.${ending}`, 'utf8')),
  );
  const [host, port] = server.info.kubernetes!.split(':');
  const call = request({ host, port, path: '/api/v1/secrets', ca: server.admin.ca, cert, key, agent: false });
  call.end();
  const [message] = (await once(call, 'response')) as [IncomingMessage];
  message.resume();
  expect(message.statusCode).toBe(401);
});
