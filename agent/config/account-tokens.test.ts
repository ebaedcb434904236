import { describe, expect, it } from 'vitest';
import { notFound } from '../../api/errors/index.ts';
import type { Pod, ServiceAccountTokenProjection, TokenRequestSpec } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createTokenSource, tokenKey } from './account-tokens.ts';

const HOUR_MS = 3_600_000;
const own: ServiceAccountTokenProjection = { path: 'token', expirationSeconds: 3_600 };
const vault: ServiceAccountTokenProjection = { path: 'vault', audience: 'vault', expirationSeconds: 600 };

function showing(...tokens: ServiceAccountTokenProjection[]): Pod {
  const made = pod('web').uid('u1').build();
  const volumes = tokens.map((serviceAccountToken, i) => ({
    name: `v${i}`,
    volumeSource: { projected: { sources: [{ serviceAccountToken }] } },
  }));
  return { ...made, spec: { ...made.spec, serviceAccountName: 'bot', volumes } };
}

function world() {
  const clock = createFakeClock();
  const asked: [string, TokenRequestSpec][] = [];
  let failure: Error | undefined;
  const source = createTokenSource({
    clock,
    accounts: {
      async createToken({ namespace, name }, spec = {}) {
        if (failure) throw failure;
        asked.push([`${namespace}/${name}`, spec]);
        return { token: `token-${asked.length}` };
      },
    },
  });
  const shown = async (...tokens: ServiceAccountTokenProjection[]) => {
    const found = await source.forPod(showing(...tokens));
    return tokens.map((each) => found.get(tokenKey(each)));
  };
  return { clock, asked, source, shown, fail: (error?: Error) => (failure = error) };
}

describe("a pod's tokens", () => {
  it('are asked for once each, of its account, bound to it', async () => {
    const { asked, shown } = world();
    expect(await shown(own, vault, { ...own, path: 'again' })).toEqual([
      { token: 'token-1' },
      { token: 'token-2' },
      { token: 'token-1' },
    ]);
    await shown(own, vault);
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web', uid: 'u1' };
    expect(asked).toEqual([
      ['default/bot', { audiences: [], expirationSeconds: 3_600, boundObjectRef }],
      ['default/bot', { audiences: ['vault'], expirationSeconds: 600, boundObjectRef }],
    ]);
  });

  it('ask nothing where no volume shows one', async () => {
    const { asked, source } = world();
    expect((await source.forPod(pod('web').uid('u1').build())).size).toBe(0);
    expect(asked).toEqual([]);
  });

  it.each([
    ['after 80 % of an hour', 3_600, 0.8 * HOUR_MS],
    ['after a day at the latest', 30 * 24 * 3_600, 24 * HOUR_MS],
  ])('are made anew %s', async (_, expirationSeconds, dueMs) => {
    const { clock, shown } = world();
    await shown({ ...own, expirationSeconds });
    await clock.advance(dueMs - 1);
    expect(await shown({ ...own, expirationSeconds })).toEqual([{ token: 'token-1' }]);
    await clock.advance(1);
    expect(await shown({ ...own, expirationSeconds })).toEqual([{ token: 'token-2' }]);
  });

  it('are never asked to live longer than the server lets them', async () => {
    const { asked, shown } = world();
    await shown({ ...own, expirationSeconds: 365 * 24 * 3_600 });
    expect(asked[0]![1].expirationSeconds).toBe(2_592_000);
  });

  it('go on until they end while the server is away, and then say why there is none', async () => {
    const { clock, shown, fail } = world();
    fail(new Error('server away'));
    expect(await shown(own)).toEqual([{ problem: 'cannot get a token: server away' }]);
    fail();
    await shown(own);
    fail(new Error('server away'));
    await clock.advance(0.9 * HOUR_MS);
    expect(await shown(own)).toEqual([{ token: 'token-1' }]);
    await clock.advance(0.1 * HOUR_MS);
    expect(await shown(own)).toEqual([{ problem: 'cannot get a token: server away' }]);
    fail();
    expect(await shown(own)).toEqual([{ token: 'token-2' }]);
  });

  it('wait a little for an account that is about to be made, and not for others', async () => {
    const { clock, asked, shown, fail } = world();
    fail(notFound({ kind: 'ServiceAccount', namespace: 'default', name: 'bot' }));
    const early = shown(own);
    await clock.advance(50);
    await clock.advance(100);
    fail();
    await clock.advance(200);
    expect(await early).toEqual([{ token: 'token-1' }]);
    expect(asked).toHaveLength(1);
    fail(notFound({ kind: 'Pod', namespace: 'default', name: 'web' }));
    expect(await shown(vault)).toEqual([{ problem: 'cannot get a token: pod "web" in namespace "default" not found' }]);
    fail(notFound({ kind: 'ServiceAccount', namespace: 'default', name: 'bot' }));
    const late = shown(vault);
    for (const ms of [50, 100, 200, 400, 800, 1_200]) await clock.advance(ms);
    expect(await late).toEqual([{ problem: 'cannot get a token: serviceaccount "bot" in namespace "default" not found' }]);
  });

  it('are forgotten with it', async () => {
    const { asked, source, shown } = world();
    await shown(own);
    source.forget('u1');
    await shown(own);
    expect(asked).toHaveLength(2);
  });
});
