import { createHmac, sign } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importJWK, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import { type KindName, kindNamed } from '../../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { KindStore } from '../../registry/kind-store.ts';
import type { Storage } from '../../storage/storage.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import { AccountTokens, signSecretToken, TOKEN_ISSUER } from './account-tokens.ts';
import { signToken } from './json-web-token.ts';
import { publicFacts, TokenKeys } from './token-keys.ts';

const DAY_MS = 24 * 3_600_000;
const begin = Date.parse('2026-01-01T00:00:00Z');
const ci = { namespace: 'ci', name: 'bot' };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-tokens-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Tokens over caches that hold the account ci/bot, its pod "p", and a pod of another account. */
async function world() {
  const dir = await mkdtemp(join(folder, 'keys-'));
  const keys = await TokenKeys.open(dir, begin);
  let [now, revision] = [begin, 0];
  const storeOf = (name: KindName): KindStore => {
    const cache = new KindCache(kindNamed(name) as Kind);
    return new KindStore(cache, { storage: {} as Storage, now: () => new Date(now), random: () => 0, uid: () => 'u' });
  };
  const [accounts, pods, secrets, nodes] = [storeOf('ServiceAccount'), storeOf('Pod'), storeOf('Secret'), storeOf('Node')];
  const change = (type: 'put' | 'delete', store: KindStore, object: ApiObject): void => {
    const { namespace = '', name = '' } = object.metadata ?? {};
    const bytes = encodeMessage(store.kind.message, object);
    store.cache.apply({ type, key: store.key({ namespace, name }), bytes, revision: ++revision, durability: 'synced' });
  };
  const account = (uid = 'account-1', more = {}): ApiObject => ({ metadata: { ...ci, uid, ...more } });
  const pod = (name: string, serviceAccountName?: string, uid = `uid-of-${name}`): ApiObject =>
    ({ metadata: { namespace: 'ci', name, uid }, spec: { serviceAccountName } }) as ApiObject;
  change('put', accounts, account());
  change('put', pods, pod('p', 'bot'));
  change('put', pods, pod('other'));
  const tokens = new AccountTokens({ keys, accounts, pods, secrets, nodes, now: () => new Date(now) });
  return {
    ...{ dir, keys, tokens, accounts, pods, secrets, nodes, account, pod, change },
    at: (ms: number) => (now = begin + ms),
    make: async (spec = {}) => (await tokens.create(ci, spec)).token ?? '',
  };
}

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
const boundObjectRef = { kind: 'Pod', name: 'p' };

test('a token names its account, for an hour, to holders of the published key', async () => {
  const { tokens, keys, make } = await world();
  const token = await make();
  expect(tokens.find(token)).toEqual({
    user: 'system:serviceaccount:ci:bot',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:ci', 'system:authenticated'],
    uid: 'account-1',
    extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claimsOf(token).jti}`] },
  });
  const [key] = keys.list(begin);
  const { payload, protectedHeader } = await jwtVerify(token, await importJWK({ ...publicFacts(key!) }, 'ES256'), {
    issuer: TOKEN_ISSUER,
    audience: TOKEN_ISSUER,
    currentDate: new Date(begin),
  });
  expect(protectedHeader).toEqual({ alg: 'ES256', kid: key!.id, typ: 'JWT' });
  expect(payload.exp! - payload.iat!).toBe(3_600);
  expect(payload['kubernetes.io']).toEqual({ namespace: 'ci', serviceaccount: { name: 'bot', uid: 'account-1' } });
});

describe('a token does not count', () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  type World = Awaited<ReturnType<typeof world>>;
  /** A token with another head or other claims, signed with the right key. */
  const forged = ({ keys }: World, token: string, head: object, claims: object): string => {
    const [key] = keys.list(begin);
    const content = `${part({ alg: 'ES256', kid: key!.id, typ: 'JWT', ...head })}.${part({ ...claimsOf(token), ...claims })}`;
    const signature = sign('sha256', Buffer.from(content), { key: key!.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${content}.${signature.toString('base64url')}`;
  };

  it.each<[string, (world: World) => Promise<string>, string]>([
    ['when it has ended', async ({ make, at }) => make().finally(() => at(3_600_000)), 'it ended at 2026-01-01T01:00:00.000Z'],
    ['before its time', async ({ make, at }) => make().finally(() => at(-120_000)), 'it is not good yet'],
    [
      'when its account was deleted',
      async ({ make, change, accounts, account }) => make().finally(() => change('delete', accounts, account())),
      'the service account "ci/bot" that it is of does not exist any more',
    ],
    [
      'when its account is another of the same name',
      async ({ make, change, accounts, account }) => make().finally(() => change('put', accounts, account('account-2'))),
      'does not exist any more',
    ],
    [
      'a while after the deletion of its account has begun',
      async ({ make, change, accounts, account, at }) =>
        make().finally(() => {
          change('put', accounts, account('account-1', { deletionTimestamp: { seconds: begin / 1_000 } }));
          at(61_000);
        }),
      'does not exist any more',
    ],
    [
      'when its pod was deleted',
      async ({ make, change, pods, pod }) => make({ boundObjectRef }).finally(() => change('delete', pods, pod('p', 'bot'))),
      'the pod "ci/p" that it is bound to does not exist any more',
    ],
    [
      'when its pod is another of the same name',
      async ({ make, change, pods, pod }) => make({ boundObjectRef }).finally(() => change('put', pods, pod('p', 'bot', 'new'))),
      'does not exist any more',
    ],
    ['for another audience', async ({ make }) => make({ audiences: ['vault'] }), 'it is for vault, not for the API server'],
    ['of another cluster', async () => (await world()).make(), 'it is not signed with a key of this cluster'],
    ['without a signature', async ({ make }) => (await make()).replace(/[^.]*$/, ''), 'its signature is wrong'],
    [
      'with another signature',
      async ({ make }) => `${(await make()).split('.').slice(0, 2).join('.')}.${(await make()).split('.')[2]}`,
      'its signature is wrong',
    ],
    [
      'with claims that were changed',
      async ({ make }) => {
        const [head, , signature] = (await make()).split('.');
        return `${head}.${part({ sub: 'system:serviceaccount:kube-system:root' })}.${signature}`;
      },
      'its signature is wrong',
    ],
    [
      'that nobody signed',
      async ({ make }) => `${part({ alg: 'none' })}.${(await make()).split('.')[1]}.`,
      'not signed with ES256',
    ],
    [
      'that was signed with the public key as a secret',
      async ({ make, keys }) => {
        const [key] = keys.list(begin);
        const content = `${part({ alg: 'HS256', kid: key!.id })}.${(await make()).split('.')[1]}`;
        const secret = key!.publicKey.export({ type: 'spki', format: 'pem' });
        return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
      },
      'not signed with ES256',
    ],
    [
      'with critical parameters in its header',
      async (all) => forged(all, await all.make(), { crit: ['x'] }, {}),
      'its header has critical parameters (crit), which this server does not support',
    ],
    [
      'without a key that it names',
      async (all) => forged(all, await all.make(), { kid: undefined }, {}),
      'a key of this cluster',
    ],
    [
      'of another maker',
      async (all) => forged(all, await all.make(), {}, { iss: 'https://example.com' }),
      'another cluster made it',
    ],
    ['that cannot be read', async () => `${Buffer.from('{"a').toString('base64url')}.e30.e30`, 'not signed with ES256'],
  ])('%s', async (_, prepare, why) => {
    const all = await world();
    const token = await prepare(all);
    // The second time its signature may be known already.
    for (const _round of [1, 2]) {
      expect(() => all.tokens.find(token)).toThrow(why);
      expect(() => all.tokens.find(token)).toThrow('the bearer token does not count');
    }
  });

  it('from the moment when it was good before', async () => {
    const { tokens, make, change, accounts, account } = await world();
    const token = await make();
    expect(tokens.find(token)).toBeDefined();
    change('delete', accounts, account());
    expect(() => tokens.find(token)).toThrow('does not exist any more');
  });

  it('and what is no such token is for others to judge', async () => {
    const { tokens } = await world();
    for (const text of ['', 'abcdef.0123456789abcdef', 'eyJx', 'a.b.c']) expect(tokens.find(text)).toBeUndefined();
  });
});

describe('the token of a secret', () => {
  const type = 'kubernetes.io/service-account-token';
  const held = (token: string, metadata: object = {}, more: object = {}) =>
    ({ metadata: { namespace: 'ci', name: 's', ...metadata }, type, data: { token: Buffer.from(token) }, ...more }) as ApiObject;
  async function secretWorld() {
    const all = await world();
    const account = { name: 'bot', uid: 'account-1' };
    const sign = () => signSecretToken(all.keys, { namespace: 'ci', name: 's' }, account, new Date(begin));
    const put = (object: ApiObject) => all.change('put', all.secrets, object);
    return { ...all, sign, put };
  }

  it('is good without an end, also after a restart, and says nothing of itself', async () => {
    const { tokens, sign, put, at, dir } = await secretWorld();
    const token = await sign();
    put(held(token));
    at(4_000 * DAY_MS);
    expect(tokens.find(token)).toMatchObject({ user: 'system:serviceaccount:ci:bot', uid: 'account-1', extra: {} });
    const again = await TokenKeys.open(dir, begin + 4_000 * DAY_MS);
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
    expect(again.list(begin + 4_000 * DAY_MS).map(({ id }) => id)).toEqual([expect.any(String), kid]);
    expect(await again.signingForever(begin)).toMatchObject({ id: kid });
  });

  it('is signed with one key, however many ask for the first at once', async () => {
    const { keys, dir } = await secretWorld();
    const [a, b] = await Promise.all([keys.signingForever(begin), keys.signingForever(begin)]);
    expect(a.id).toBe(b.id);
    expect((await readdir(dir)).sort()).toEqual([`${begin}.key`, 'secrets.key']);
    expect((await stat(join(dir, 'secrets.key'))).mode & 0o777).toBe(0o600);
  });

  it.each<[string, (token: string) => ApiObject | undefined, string]>([
    ['does not exist', () => undefined, 'the secret "ci/s" that it is of does not exist any more'],
    ['is being deleted', (token) => held(token, { deletionTimestamp: { seconds: begin / 1_000 } }), 'does not exist any more'],
    ['is of another type', (token) => held(token, {}, { type: 'Opaque' }), 'does not exist any more'],
    ['holds another', () => held('x'), 'the secret "ci/s" that it is of holds another token'],
    ['holds none', () => held('', {}, { data: {} }), 'holds another token'],
  ])('is refused when its secret %s', async (_, secretOf, why) => {
    const { tokens, sign, put } = await secretWorld();
    const token = await sign();
    const secret = secretOf(token);
    if (secret) put(secret);
    expect(() => tokens.find(token)).toThrow(why);
  });

  it('is refused when its account was deleted', async () => {
    const { tokens, sign, put, change, accounts, account } = await secretWorld();
    const token = await sign();
    put(held(token));
    expect(tokens.find(token)).toBeDefined();
    change('delete', accounts, account());
    expect(() => tokens.find(token)).toThrow('the service account "ci/bot" that it is of does not exist any more');
  });

  it('without an end is refused where no secret holds it', async () => {
    const { keys, tokens, make } = await secretWorld();
    const { exp: _, ...claims } = claimsOf(await make());
    expect(() => tokens.find(signToken(claims, keys.list(begin)[0]!))).toThrow('says neither when it ends');
  });
});

describe('a bound token', () => {
  const secret = (uid = 's-1', more = {}) => ({ metadata: { namespace: 'ci', name: 's', uid, ...more } }) as ApiObject;
  const node = (uid = 'n-1', more = {}) => ({ metadata: { name: 'n', uid, ...more } }) as ApiObject;
  const prefix = 'authentication.kubernetes.io/';

  it.each([
    ['Secret', 's', 'secrets', secret, 'secret "ci/s"', {}],
    ['Node', 'n', 'nodes', node, 'node "n"', { [`${prefix}node-name`]: ['n'], [`${prefix}node-uid`]: ['n-1'] }],
  ] as const)('ends with its %s', async (kind, name, store, objectOf, words, extra) => {
    const all = await world();
    all.change('put', all[store], objectOf());
    const make = () => all.make({ boundObjectRef: { kind, apiVersion: 'v1', name } });
    const token = await make();
    const { 'kubernetes.io': claims, jti } = claimsOf(token);
    expect(claims).toMatchObject({ [kind.toLowerCase()]: { name, uid: objectOf().metadata?.uid } });
    expect(all.tokens.find(token)?.extra).toEqual({ [`${prefix}credential-id`]: [`JTI=${jti}`], ...extra });
    const gone = `the ${words} that it is bound to does not exist any more`;
    all.change('put', all[store], objectOf('other'));
    expect(() => all.tokens.find(token)).toThrow(gone);
    all.change('put', all[store], objectOf(undefined, { deletionTimestamp: { seconds: begin / 1_000 } }));
    expect(all.tokens.find(token)).toBeDefined();
    all.at(61_000);
    expect(() => all.tokens.find(token)).toThrow(gone);
    all.change('delete', all[store], objectOf());
    expect(() => all.tokens.find(token)).toThrow(gone);
    const wish = { boundObjectRef: { kind, name, uid: 'x' } };
    all.change('put', all[store], objectOf());
    await expect(all.tokens.create(ci, wish)).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('of a pod says which node that is on, and outlives the node', async () => {
    const { tokens, make, change, pods, nodes, pod } = await world();
    const on = { ...pod('p', 'bot'), spec: { serviceAccountName: 'bot', nodeName: 'n' } } as ApiObject;
    change('put', pods, on);
    const nameless = await make({ boundObjectRef });
    expect(claimsOf(nameless)['kubernetes.io'].node).toEqual({ name: 'n' });
    change('put', nodes, node());
    const token = await make({ boundObjectRef });
    change('delete', nodes, node());
    expect(tokens.find(token)?.extra).toMatchObject({
      ...{ [`${prefix}pod-name`]: ['p'], [`${prefix}node-name`]: ['n'], [`${prefix}node-uid`]: ['n-1'] },
    });
  });

  it('of a Secret or node is for no node', async () => {
    const { tokens, change, secrets } = await world();
    change('put', secrets, secret());
    const judge = (pod: unknown): void => {
      if (pod === undefined) throw new Error('not bound to a pod');
    };
    await expect(tokens.create(ci, { boundObjectRef: { kind: 'Secret', name: 's' } }, judge)).rejects.toThrow(
      'not bound to a pod',
    );
  });

  it('of a Secret is not good where its claims leave out when it ends', async () => {
    const { tokens, keys, make, change, secrets } = await world();
    change('put', secrets, secret());
    const { exp: _, ...claims } = claimsOf(await make({ boundObjectRef: { kind: 'Secret', name: 's' } }));
    expect(() => tokens.find(signToken(claims, keys.list(begin)[0]!))).toThrow('does not exist any more');
  });
});

describe('a wish for a token', () => {
  it.each<[string, object, object]>([
    ['too short', { expirationSeconds: 599 }, { code: 'INVALID_ARGUMENT' }],
    ['too long', { expirationSeconds: 2_592_001 }, { code: 'INVALID_ARGUMENT' }],
    ['bound to something else', { boundObjectRef: { kind: 'ConfigMap', name: 'n' } }, { code: 'INVALID_ARGUMENT' }],
    [
      'bound to a pod of another group',
      { boundObjectRef: { ...boundObjectRef, apiVersion: 'x/v1' } },
      { code: 'INVALID_ARGUMENT' },
    ],
    ['bound to a secret that is not there', { boundObjectRef: { kind: 'Secret', name: 'none' } }, { code: 'NOT_FOUND' }],
    ['bound to a node that is not there', { boundObjectRef: { kind: 'Node', name: 'none' } }, { code: 'NOT_FOUND' }],
    ['bound to a pod that is not there', { boundObjectRef: { kind: 'Pod', name: 'none' } }, { code: 'NOT_FOUND' }],
    ['bound to a pod of another account', { boundObjectRef: { kind: 'Pod', name: 'other' } }, { code: 'INVALID_ARGUMENT' }],
    ['bound to another pod of the name', { boundObjectRef: { ...boundObjectRef, uid: 'x' } }, { code: 'ABORTED' }],
    ['for an empty audience', { audiences: [''] }, { code: 'INVALID_ARGUMENT' }],
  ])('that is %s is refused', async (_, spec, error) => {
    const { tokens } = await world();
    await expect(tokens.create(ci, spec)).rejects.toMatchObject(error);
  });

  it('bound to the mirror of a static pod is refused: a node could make such pods to get tokens', async () => {
    const { tokens, pods, accounts, change } = await world();
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    change('put', pods, { metadata: { namespace: 'ci', name: 'mirror', uid: 'm', annotations } } as ApiObject);
    change('put', accounts, { metadata: { namespace: 'ci', name: 'default', uid: 'd' } });
    const wish = tokens.create({ namespace: 'ci', name: 'default' }, { boundObjectRef: { kind: 'Pod', name: 'mirror' } });
    await expect(wish).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('mirrors a static pod'),
    });
  });

  it('is judged by its pod before anything is told of that', async () => {
    const { tokens } = await world();
    const seen: unknown[] = [];
    const judge = (pod: unknown): void => {
      seen.push(pod);
      throw new Error('not yours');
    };
    const ref = { ...boundObjectRef, uid: 'x' };
    await expect(tokens.create(ci, { boundObjectRef: ref }, judge)).rejects.toThrow('not yours');
    await expect(tokens.create(ci, {}, judge)).rejects.toThrow('not yours');
    expect(seen).toEqual([expect.objectContaining({ spec: expect.anything() }), undefined]);
  });

  it('of an account that is not there is refused', async () => {
    const { tokens } = await world();
    await expect(tokens.create({ ...ci, name: 'none' }, {})).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the keys', () => {
  it('sign for 90 days and are known as long as a token of theirs may be good', async () => {
    const { tokens, keys, make, at } = await world();
    const old = await make({ expirationSeconds: 30 * 24 * 3_600 });
    const [first] = keys.list(begin);
    at(89 * DAY_MS);
    const late = await make({ expirationSeconds: 30 * 24 * 3_600 });
    expect(keys.list(begin + 89 * DAY_MS)).toEqual([first]);
    at(91 * DAY_MS);
    expect(() => tokens.find(old)).toThrow('it ended');
    const fresh = await make();
    expect(keys.list(begin + 91 * DAY_MS).map(({ id }) => id)).toEqual([expect.any(String), first!.id]);
    for (const token of [late, fresh]) expect(tokens.find(token)).toBeDefined();
    at(122 * DAY_MS);
    expect(keys.list(begin + 122 * DAY_MS)).toHaveLength(1);
  });

  it('are the same after a restart, and readable by their owner only', async () => {
    const { dir, keys, make, tokens } = await world();
    const token = await make();
    const again = await TokenKeys.open(dir, begin + DAY_MS);
    expect(again.list(begin).map(({ id }) => id)).toEqual(keys.list(begin).map(({ id }) => id));
    expect(tokens.find(token)).toBeDefined();
    for (const name of await readdir(dir)) expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600);
    await TokenKeys.open(dir, begin + 130 * DAY_MS);
    expect(await readdir(dir)).toEqual([`${begin + 130 * DAY_MS}.key`]);
  });

  it('that cannot be read are named', async () => {
    const { dir } = await world();
    await writeFile(join(dir, '5.key'), 'nonsense');
    await expect(TokenKeys.open(dir, begin)).rejects.toThrow(/read .*5\.key: .*; remove the file, and tokens that it signed end/);
  });
});
