import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Watches of Kubernetes' HTTP API in all their forms: paths of old clients, WebSockets, tables; and what lists and
// watches refuse.
let server: RunningServer;
let bot: string;
const inDefault = '/api/v1/namespaces/default';
const watched = '/api/v1/watch/namespaces/default';

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  for (const name of ['one', 'two']) await make(name);
  const metadata = { namespace: 'default', name: 'bot' };
  await server.client.serviceAccounts.create({ metadata });
  bot = (await server.client.serviceAccounts.createToken(metadata, {})).token ?? '';
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'], verbs: ['watch'] }];
  await server.client.roles.create({ metadata, rules });
  const subjects = [{ kind: 'ServiceAccount', namespace: 'default', name: 'bot' }];
  await server.client.roleBindings.create({ metadata, roleRef: { kind: 'Role', name: 'bot' }, subjects });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const make = (name: string, labels = {}) => server.client.configMaps.create({ metadata: { namespace: 'default', name, labels } });

function ask(path: string, headers = {}, method = 'GET') {
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const call = request({ host, port, path, method, ca, cert, key, agent: false, headers: { ...headers } });
  call.end();
  return once(call, 'response').then(([response]) => response as IncomingMessage);
}

async function read(path: string, headers = {}, method = 'GET') {
  const response = await ask(path, headers, method);
  let text = '';
  for await (const piece of response) text += piece;
  const events = () =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { code: response.statusCode, text, events, json: () => JSON.parse(text) };
}

/** What a watch says of the objects that there are, in a second. */
const shortly = 'timeoutSeconds=1';
const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
const tooLarge = { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' };
const namesOf = (events: { object: { metadata: { name: string } } }[]) => events.map(({ object }) => object.metadata.name);

describe('a watch at a path of old clients', () => {
  it('is one of a collection', async () => {
    const { code, events } = await read(`${watched}/configmaps?${shortly}`);
    expect([code, namesOf(events())]).toEqual([200, ['one', 'two']]);
    const everywhere = await read(`/api/v1/watch/configmaps?${shortly}&fieldSelector=metadata.name%3Dtwo`);
    expect(namesOf(everywhere.events())).toEqual(['two']);
  });

  it('is one of a single object, and needs the right to it alone', async () => {
    const { events } = await read(`${watched}/configmaps/one?${shortly}`);
    expect(namesOf(events())).toEqual(['one']);
    const as = { 'impersonate-user': 'system:serviceaccount:default:bot' };
    expect(namesOf((await read(`${watched}/configmaps/one?${shortly}`, as)).events())).toEqual(['one']);
    expect((await read(`${watched}/configmaps/two?${shortly}`, as)).code).toBe(403);
    expect((await read(`${watched}/configmaps?${shortly}`, as)).code).toBe(403);
  });

  it('is one of a namespace, or in it, and of groups', async () => {
    expect(namesOf((await read(`/api/v1/watch/namespaces/default?${shortly}`)).events())).toEqual(['default']);
    expect((await read(`/apis/apps/v1/watch/namespaces/default/deployments?${shortly}`)).code).toBe(200);
  });

  it.each([
    [
      'that names another object',
      `${watched}/configmaps/one?fieldSelector=metadata.name%3Dtwo`,
      400,
      "doesn't match requested name",
    ],
    ['by another method', `${watched}/configmaps`, 405, 'does not allow this method'],
    ['of a subresource', `${watched}/pods/one/log`, 405, 'does not allow this method'],
    ['of what is not kept', '/apis/metrics.k8s.io/v1beta1/watch/nodes', 405, 'does not allow this method'],
  ])('%s is refused', async (_, path, code, message) => {
    const answer = await read(path, {}, path === `${watched}/configmaps` ? 'DELETE' : 'GET');
    expect(answer.json()).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('of one object by a query is a read, as in Kubernetes', async () => {
    expect((await read(`${inDefault}/configmaps/one?watch=true`)).json()).toMatchObject({ kind: 'ConfigMap' });
  });
});

describe('a watch over a WebSocket', () => {
  function connect(path: string, { protocols = [], headers = {} }: { protocols?: string[]; headers?: object } = {}, own = true) {
    const { ca, cert, key } = server.admin;
    const ws = new WebSocket(`wss://${server.info.kubernetes}${path}`, protocols, {
      ...{ ca, headers: { ...headers } },
      ...(own ? { cert, key } : {}),
    });
    const heard: { data: Buffer; isBinary: boolean }[] = [];
    ws.on('message', (data: Buffer, isBinary) => heard.push({ data, isBinary }));
    return { ws, heard };
  }

  it('has a message of text for each event', async () => {
    const { ws, heard } = connect(`${inDefault}/configmaps?watch=1`);
    await until('what there is', () => heard.length === 2);
    await make('three');
    await until('a change', () => heard.length === 3);
    const events = heard.map(({ data, isBinary }) => {
      expect(isBinary).toBe(false);
      return JSON.parse(data.toString());
    });
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'ADDED']);
    expect(namesOf(events)).toEqual(['one', 'two', 'three']);
    ws.close();
    await once(ws, 'close');
    await server.client.configMaps.delete({ namespace: 'default', name: 'three' });
  });

  it('is binary where events are protobuf, without the lengths that streams have', async () => {
    const headers = { accept: 'application/vnd.kubernetes.protobuf' };
    const { ws, heard } = connect(`${inDefault}/configmaps?watch=1`, { headers });
    await until('what there is', () => heard.length === 2);
    for (const { data, isBinary } of heard) {
      expect(isBinary).toBe(true);
      expect(data.subarray(0, 7).toString('latin1')).toBe('\n\x05ADDED');
    }
    ws.close();
  });

  it('ends normally when its time is over', async () => {
    const { ws } = connect(`${watched}/configmaps/one?${shortly}`, { protocols: ['anything'] });
    await once(ws, 'open');
    expect(ws.protocol).toBe('anything');
    expect((await once(ws, 'close'))[0]).toBe(1000);
  });

  it('takes a token as browsers can send it, beside another subprotocol', async () => {
    const bearer = `base64url.bearer.authorization.k8s.io.${Buffer.from(bot).toString('base64url')}`;
    const { ws, heard } = connect(`${watched}/configmaps/one`, { protocols: [bearer, 'v1.watch'] }, false);
    await until('an event', () => heard.length === 1);
    expect(ws.protocol).toBe('v1.watch');
    ws.close();
    const refused = connect(`${watched}/configmaps/two`, { protocols: [bearer, 'v1.watch'] }, false);
    const [, response] = (await once(refused.ws, 'unexpected-response')) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(403);
    const unknown = connect(`${watched}/configmaps/one`, { protocols: [`${bearer}x`, 'v1.watch'] }, false);
    const [, answer] = (await once(unknown.ws, 'unexpected-response')) as [unknown, IncomingMessage];
    expect(answer.statusCode).toBe(401);
  });

  it('from a version of the future waits for it, and tells of what comes after it', async () => {
    const maps = '/api/v1/namespaces/kube-public/configmaps';
    const version = Number((await read(maps)).json().metadata.resourceVersion);
    const { ws, heard } = connect(`${maps}?watch=1&allowWatchBookmarks=true&resourceVersion=${version + 3}`);
    await once(ws, 'open');
    const made: number[] = [];
    for (let i = 0; i < 6; i++) {
      const { metadata } = await server.client.configMaps.create({ metadata: { namespace: 'kube-public', name: `later-${i}` } });
      made.push(Number(metadata?.resourceVersion));
    }
    const after = made.filter((each) => each > version + 3);
    const events = () => heard.map(({ data }) => JSON.parse(data.toString()));
    await expect.poll(() => events().filter(({ type }) => type === 'ADDED').length).toBe(after.length);
    expect(after.length).toBeLessThan(6);
    const versions = events().map(({ object }) => Number(object.metadata.resourceVersion));
    expect(Math.min(...versions)).toBeGreaterThanOrEqual(version + 3);
    ws.close();
  });

  it('tells of a version that does not come by its first message', async () => {
    const { ws, heard } = connect(`${inDefault}/configmaps?watch=1&resourceVersion=99999999&${initial}`);
    await once(ws, 'close');
    expect(heard.map(({ data }) => JSON.parse(data.toString()))).toMatchObject([{ type: 'ERROR', object: { code: 504 } }]);
  });
});

describe('a watch', () => {
  it('that begins with the objects of a version of the future says by its first event that it did not come', async () => {
    const { code, events } = await read(`${inDefault}/configmaps?watch=1&resourceVersion=99999999&${initial}`);
    expect(code).toBe(200);
    const message = expect.stringMatching(/^Timeout: Too large resource version: 99999999, current: \d+$/);
    const details = { causes: [tooLarge], retryAfterSeconds: 1 };
    expect(events()).toMatchObject([
      { type: 'ERROR', object: { kind: 'Status', status: 'Failure', reason: 'Timeout', code: 504, message, details } },
    ]);
  });

  it('ignores what belongs to pages', async () => {
    const { events } = await read(`${inDefault}/configmaps?watch=1&limit=1&continue=abc&${shortly}`);
    expect(events()).toHaveLength(2);
  });

  it('may be one of tables or of metadata', async () => {
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const tables = (await read(`${inDefault}/configmaps?watch=1&${shortly}`, table)).events();
    expect(tables[0]).toMatchObject({ object: { kind: 'Table', columnDefinitions: expect.any(Array), rows: [{}] } });
    expect(tables[1]).toMatchObject({ object: { kind: 'Table', columnDefinitions: null, rows: [{}] } });
    const partial = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
    const metadata = (await read(`${inDefault}/configmaps?watch=1&${shortly}`, partial)).events();
    expect(metadata[0]).toMatchObject({ object: { kind: 'PartialObjectMetadata', metadata: { name: 'one' } } });
  });

  it.each([
    ['ConfigMap', 'v1', ''],
    ['PartialObjectMetadata', 'meta.k8s.io/v1', ';as=PartialObjectMetadata;v=v1;g=meta.k8s.io'],
    ['Table', 'meta.k8s.io/v1', ';as=Table;v=v1;g=meta.k8s.io'],
    ['PartialObjectMetadata', 'meta.k8s.io/v1beta1', ';as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io'],
    ['Table', 'meta.k8s.io/v1beta1', ';as=Table;v=v1beta1;g=meta.k8s.io'],
  ])('sends bookmarks as %s, as its other events', async (kind, apiVersion, as) => {
    const { events } = await read(`${inDefault}/configmaps?watch=1&${initial}&${shortly}`, { accept: `application/json${as}` });
    const bookmarks = events().filter(({ type }: { type: string }) => type === 'BOOKMARK');
    const metadata = { resourceVersion: expect.stringMatching(/^[1-9]/), annotations: { 'k8s.io/initial-events-end': 'true' } };
    expect(bookmarks[0]?.object).toMatchObject({ kind, apiVersion });
    const named = kind === 'Table' ? bookmarks[0].object.rows[0].object : bookmarks[0].object;
    expect(named.metadata).toMatchObject(metadata);
    for (const { object } of events()) expect(object).toMatchObject({ kind, apiVersion });
  });

  it('gives watches of v1 and v1beta1 tables events of their own version, also at the same time', async () => {
    const accept = (version: string) => ({ accept: `application/json;as=Table;v=${version};g=meta.k8s.io` });
    const versions = ['v1', 'v1beta1'];
    const watches = await Promise.all(
      versions.map((version) => ask(`${inDefault}/configmaps?watch=1&timeoutSeconds=60`, accept(version))),
    );
    // Watches that are open at the event itself: what is made for one of them is kept for the others of its form.
    const said = watches.map((response) => {
      const heard = { text: '' };
      response.on('data', (piece: Buffer) => {
        heard.text += piece.toString();
      });
      return heard;
    });
    await expect.poll(() => said.every(({ text }) => text.includes('"two"'))).toBe(true);
    await server.client.configMaps.create({ metadata: { namespace: 'default', name: 'live' } });
    await expect.poll(() => said.every(({ text }) => text.includes('"live"') && text.endsWith('\n'))).toBe(true);
    for (const response of watches) response.destroy();
    await server.client.configMaps.delete({ namespace: 'default', name: 'live' });
    const last = said.map(({ text }) => JSON.parse(text.trimEnd().split('\n').at(-1)!).object.apiVersion);
    expect(last).toEqual(versions.map((version) => `meta.k8s.io/${version}`));
  });
});

describe('options that contradict each other are refused', () => {
  const match = 'resourceVersionMatch';
  it.each([
    [`${match}=Exact`, `${match} is forbidden unless resourceVersion is provided`],
    [`${match}=Exact&resourceVersion=0`, `${match} "exact" is forbidden for resourceVersion "0"`],
    [`${match}=Newest&resourceVersion=1`, 'Exact'],
    [`${match}=NotOlderThan&resourceVersion=1&continue=x`, `${match} is forbidden when continue is provided`],
    ['sendInitialEvents=true', 'sendInitialEvents is forbidden for list'],
    ['watch=1&sendInitialEvents=true', `sendInitialEvents requires setting ${match} to NotOlderThan`],
    [`watch=1&${match}=NotOlderThan`, `${match} is forbidden for watch unless sendInitialEvents is provided`],
    [`watch=1&sendInitialEvents=false&${match}=Exact`, 'NotOlderThan'],
  ])('%s', async (query, message) => {
    const answer = await read(`${inDefault}/configmaps?${query}`);
    expect(answer.json()).toMatchObject({ reason: 'Invalid', code: 422, message: expect.stringContaining(message) });
    expect(answer.json().message).toMatch(/^ListOptions\.meta\.k8s\.io "" is invalid: /);
  });

  it.each([
    ['resourceVersion=1&continue=x', 400, 'specifying resource version is not allowed when using continue'],
    ['continue=x', 400, 'invalid continue token'],
    ['limit=x', 400, 'limit'],
    ['fieldSelector=spec.x%3Dy', 400, '"spec.x" is not a known field selector'],
    ['fieldSelector=metadata.name', 400, 'field selector'],
    ['labelSelector=%21%21', 400, ''],
    ['resourceVersion=x', 400, 'resourceVersion'],
  ])('%s', async (query, code, message) => {
    const answer = await read(`${inDefault}/configmaps?${query}`);
    expect(answer.json()).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('a list waits for a version to come, then says that it has not', async () => {
    const answer = await read(`${inDefault}/configmaps?resourceVersion=99999999`);
    const details = { causes: [tooLarge], retryAfterSeconds: 1 };
    const message = expect.stringMatching(/^Timeout: Too large resource version: 99999999, current: \d+$/);
    expect(answer.json()).toMatchObject({ code: 504, reason: 'Timeout', message, details });
    expect((await read(`${inDefault}/configmaps/one?resourceVersion=99999999`)).json()).toMatchObject({
      code: 504,
      message,
      details,
    });
  });
});

it('a list whose token has expired may go on through the present objects', async () => {
  for (const name of ['a', 'b', 'c']) await make(name, { paged: 'yes' });
  const list = `${inDefault}/configmaps?labelSelector=paged%3Dyes&limit=1`;
  const first = (await read(list)).json();
  const [format, , after, check] = JSON.parse(Buffer.from(first.metadata.continue, 'base64url').toString());
  // A version that no server gave out is as one that is not kept any more.
  const old = Buffer.from(JSON.stringify([format, 99_999_999, after, check])).toString('base64url');
  const gone = (await read(`${list}&continue=${old}`)).json();
  expect(gone).toMatchObject({ reason: 'Expired', code: 410, message: expect.stringContaining('is too old') });
  await make('bb', { paged: 'yes' });
  const names: string[] = [];
  for (let token = gone.metadata.continue; token; ) {
    const page = (await read(`${list}&continue=${token}`)).json();
    names.push(...page.items.map((each: { metadata: { name: string } }) => each.metadata.name));
    token = page.metadata.continue;
  }
  expect(names).toEqual(['b', 'bb', 'c']);
});
