import { describe, expect, it } from 'vitest';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import type { LocalImage, PullOptions } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import type { Access, VerificationPolicy } from './access.ts';
import type { PullCredential } from './credentials.ts';
import { createImageHolds } from './image-holds.ts';
import { createImageSource } from './images.ts';
import type { PullRecords } from './pulled-images.ts';
import { createPulls } from './pulls.ts';

const reference = 'registry:5000/team/app:1';
const repository = 'registry:5000/team/app';
const image: LocalImage = { id: 'sha256:1', names: [reference], sizeBytes: 42 };

function login(password: string, uid = `uid-${password}`): PullCredential {
  const auth = { username: 'ann', password, serverAddress: 'registry:5000' };
  return { auth, hash: `hash-${password}`, secret: { uid, namespace: 'default', name: 'login', hash: `hash-${password}` } };
}

interface SetUp {
  readonly present?: boolean;
  readonly failure?: RuntimeError;
  readonly refused?: boolean;
  readonly takes?: string;
  readonly policy?: VerificationPolicy;
  readonly allowlist?: readonly string[];
  readonly access?: Access;
  readonly findError?: RuntimeError;
}

function setUp(options: SetUp = {}) {
  const clock = createFakeClock();
  const records = new Map<string, { names: string[]; access: Record<string, Access> }>();
  if (options.access !== undefined) records.set(image.id, { names: [], access: { [repository]: options.access } });
  const state = { present: options.present ?? false, failure: options.failure, findError: options.findError };
  const tried: (string | undefined)[] = [];
  const images = {
    async find() {
      if (state.findError !== undefined) throw state.findError;
      return state.present ? image : undefined;
    },
    async pull(_: string, { auth }: PullOptions) {
      tried.push(auth?.password);
      if (state.failure !== undefined) throw state.failure;
      if (options.takes !== undefined && auth?.password !== options.takes)
        throw new RuntimeError('image-unauthorized', `not with ${auth?.password}`);
      state.present = true;
      return image;
    },
    isRefused: async () => options.refused ?? false,
  };
  const { signal } = new AbortController();
  const pulls = createPulls({ images, clock, atOnce: 2, patienceMs: 60_000, signal });
  const holds = createImageHolds();
  const source = createImageSource({
    images,
    pulls,
    records: {
      get: (id: string) => records.get(id),
      async allow(id: string, of: string, credential?: PullCredential) {
        const access: Access = credential?.secret === undefined ? { anyone: true } : { secrets: [credential.secret] };
        records.set(id, { names: [], access: { [of]: access } });
      },
    } as unknown as PullRecords,
    holds,
    access: { policy: options.policy ?? 'NeverVerifyPreloadedImages', allowlist: options.allowlist ?? [] },
    clock,
  });
  const told: string[] = [];
  let asked = 0;
  const ensure = (policy: string, credentials: readonly PullCredential[] = [], of = reference) =>
    source.ensure({
      reference: of,
      policy,
      signal,
      credentials: async () => {
        asked++;
        return credentials;
      },
      onPulling: () => told.push('pulling'),
      onProgress: (words) => told.push(words),
    });
  return { source, holds, ensure, clock, state, tried, told, records, asked: () => asked };
}

const unreachable = new RuntimeError('unavailable', 'no such host');
const refused = new RuntimeError('image-unauthorized', 'access denied');

it.each(['Always', 'IfNotPresent'])('an image that is just being removed is pulled anew, with policy %s', async (policy) => {
  const { holds, ensure, state, tried } = setUp({ present: true });
  let end = () => {};
  const removal = holds.remove(image, () => new Promise<void>((resolve) => (end = resolve)));
  const wish = ensure(policy);
  await settle();
  expect(tried).toEqual([]);
  state.present = false;
  end();
  await removal;
  expect(await wish).toMatchObject({ present: true, pulled: { sizeBytes: 42 } });
  expect(tried).toHaveLength(1);
});

describe('an image that must be pulled each time', () => {
  it('is used as it is here while its registry cannot be reached, and says so', async () => {
    const { ensure } = setUp({ present: true, failure: unreachable });
    expect(await ensure('Always')).toEqual({ present: true, unchecked: 'no such host' });
  });

  it('is asked for again after the back-off only, so that a registry that is away does not slow every start', async () => {
    const { ensure, tried, clock } = setUp({ present: true, failure: unreachable });
    await ensure('Always');
    await ensure('Always');
    expect(tried).toHaveLength(1);
    await clock.advance(10_000);
    await ensure('Always');
    expect(tried).toHaveLength(2);
  });

  it.each([
    ['with plain words', { failure: refused }],
    ['with words that could mean that it is away', { failure: unreachable, refused: true }],
  ])('is not used when the registry refuses it %s, although it is here', async (_, how) => {
    const { ensure } = setUp({ present: true, ...how });
    expect(await ensure('Always')).toMatchObject({ present: false, reason: 'ErrImagePull' });
    expect(await ensure('Always')).toMatchObject({ present: false, reason: 'ImagePullBackOff' });
  });

  it('fails when it is not here and its registry cannot be reached', async () => {
    const { ensure } = setUp({ failure: unreachable });
    expect(await ensure('Always')).toMatchObject({ present: false, message: 'no such host' });
  });

  it("is not used by a pod whose login never pulled it, while its registry is away: another pod's pull says nothing about this one", async () => {
    const access = { secrets: [login('right').secret!] };
    const { ensure } = setUp({ present: true, failure: unreachable, access });
    expect(await ensure('Always', [login('wrong')])).toMatchObject({ present: false, reason: 'ErrImagePull' });
    expect(await ensure('Always')).toMatchObject({ present: false, reason: 'ErrImagePull' });
    expect(await ensure('Always', [login('right')])).toEqual({ present: true, unchecked: 'no such host' });
  });
});

describe('an image that is here', () => {
  const right = login('right');
  const pulledWith = { secrets: [right.secret!] };
  const used = { present: true };
  const pulled = { present: true, pulled: { pullMs: 0, waitedMs: 0, sizeBytes: 42 } };
  const failed = { present: false, reason: 'ErrImagePull' };

  it.each<[string, SetUp, readonly PullCredential[], object]>([
    ['that Berth did not pull may be used by every pod', {}, [], used],
    ['that was pulled without a login may be used by every pod', { access: { anyone: true } }, [], used],
    ['that was pulled with a Secret is used with this Secret', { access: pulledWith }, [right], used],
    [
      'that was pulled with a Secret is used with the same login of another',
      { access: pulledWith },
      [login('right', 'other')],
      used,
    ],
    [
      'that was pulled with a Secret is used with this Secret and a new password',
      { access: pulledWith },
      [login('new', 'uid-right')],
      used,
    ],
    ['that was pulled with a Secret is pulled with another login', { access: pulledWith, takes: 'too' }, [login('too')], pulled],
    ['that was pulled with a Secret is not given to a pod without one', { access: pulledWith, takes: 'right' }, [], failed],
    [
      'that was pulled with a Secret is not given for a wrong password',
      { access: pulledWith, takes: 'right' },
      [login('wrong')],
      failed,
    ],
    ['is not given away although its registry is away', { access: pulledWith, failure: unreachable }, [login('wrong')], failed],
    ['may be used by every pod with NeverVerify', { access: pulledWith, policy: 'NeverVerify', takes: 'right' }, [], used],
    ['is checked with AlwaysVerify, also if Berth did not pull it', { policy: 'AlwaysVerify', takes: 'right' }, [], failed],
    ['is checked once with AlwaysVerify', { policy: 'AlwaysVerify', takes: 'right' }, [right], pulled],
    ['is checked when no list allows it', { policy: 'NeverVerifyAllowlistedImages', takes: 'right' }, [], failed],
    ['may be used by every pod when it is listed', { policy: 'NeverVerifyAllowlistedImages', allowlist: [repository] }, [], used],
    [
      'may be used by every pod when all beside it are listed',
      { policy: 'NeverVerifyAllowlistedImages', allowlist: ['registry:5000/team/*'] },
      [],
      used,
    ],
    [
      'that was pulled is checked although it is listed',
      { policy: 'NeverVerifyAllowlistedImages', allowlist: [repository], access: pulledWith, takes: 'x' },
      [],
      failed,
    ],
  ])('%s', async (_, options, credentials, result) => {
    const { ensure } = setUp({ present: true, ...options });
    expect(await ensure('IfNotPresent', credentials)).toMatchObject(result);
  });

  it('costs no question for credentials that do not matter', async () => {
    const { ensure, asked } = setUp({ present: true });
    await ensure('IfNotPresent', [right]);
    expect(asked()).toBe(0);
  });

  it('is not pulled to find out, with policy Never', async () => {
    const { ensure, tried } = setUp({ present: true, access: pulledWith });
    const result = await ensure('Never', [login('wrong')]);
    expect(result).toMatchObject({
      present: false,
      reason: 'ErrImageNeverPull',
      message: expect.stringContaining('no credentials'),
    });
    expect(await ensure('Never', [right])).toEqual(used);
    expect(tried).toEqual([]);
  });

  it('is missed with policy Never', async () => {
    const { ensure } = setUp();
    const message = `Container image "${reference}" is not present with pull policy of Never`;
    expect(await ensure('Never')).toMatchObject({ present: false, reason: 'ErrImageNeverPull', message });
  });
});

describe('credentials', () => {
  it('are tried one after the other, and the one that was taken is remembered', async () => {
    const { ensure, tried, records } = setUp({ takes: 'new' });
    expect(await ensure('IfNotPresent', [login('old'), login('new'), login('unused')])).toMatchObject({ present: true });
    expect(tried).toEqual(['old', 'new']);
    expect(records.get(image.id)?.access[repository]).toEqual({ secrets: [login('new').secret] });
  });

  it('are all named when none was taken', async () => {
    const { ensure } = setUp({ takes: 'none' });
    expect(await ensure('IfNotPresent', [login('a'), login('b')])).toMatchObject({ message: 'not with a; not with b' });
  });

  it('of their own back off alone: a pod with the right ones does not wait for one with the wrong ones', async () => {
    const { ensure } = setUp({ takes: 'right' });
    await ensure('IfNotPresent', [login('wrong')]);
    expect(await ensure('IfNotPresent', [login('wrong')])).toMatchObject({ reason: 'ImagePullBackOff' });
    expect(await ensure('IfNotPresent', [login('right')])).toMatchObject({ present: true });
  });
});

describe('pulls that fail', () => {
  it('wait 10 s, twice that, at most 5 minutes, and start anew after one that succeeds', async () => {
    const { ensure, clock, state } = setUp({ failure: refused });
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      const result = await ensure('IfNotPresent');
      if (result.present) throw new Error('it cannot be');
      waits.push((result.notBefore - clock.now()) / 1000);
      await clock.advance(result.notBefore - clock.now());
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
    state.failure = undefined;
    expect(await ensure('Always')).toMatchObject({ present: true });
    state.failure = refused;
    expect(await ensure('Always')).toMatchObject({ notBefore: clock.now() + 10_000 });
  });

  it('are counted once, however many pods waited', async () => {
    const { ensure, clock } = setUp({ failure: refused });
    const results = await Promise.all([1, 2, 3].map(() => ensure('IfNotPresent')));
    for (const result of results) expect(result).toMatchObject({ reason: 'ErrImagePull', notBefore: clock.now() + 10_000 });
  });

  it('do not wait hours when the clock is set back', async () => {
    const { ensure, clock, tried } = setUp({ failure: refused });
    await ensure('IfNotPresent');
    clock.skew(-3_600_000);
    expect(await ensure('IfNotPresent')).toMatchObject({ reason: 'ErrImagePull', notBefore: clock.now() + 10_000 + 10_000 });
    expect(tried).toHaveLength(2);
  });

  it('count nothing against the pod when it is the engine that is away', async () => {
    const { ensure } = setUp({ failure: unreachable, findError: unreachable });
    await expect(ensure('Always')).rejects.toBe(unreachable);
  });
});

describe('a name that no image can have', () => {
  it.each(['Always', 'IfNotPresent', 'Never'])('is an answer and not a failure of the engine, with policy %s', async (policy) => {
    const { ensure, tried } = setUp();
    const message =
      'Failed to apply default image tag "Not A Name": couldn\'t parse image name "Not A Name": invalid reference format: repository name must be lowercase';
    expect(await ensure(policy, [], 'Not A Name')).toMatchObject({ present: false, reason: 'InvalidImageName', message });
    expect(tried).toEqual([]);
  });
});

describe('the words for what happens', () => {
  it('come when the pull begins, for every pod that waits', async () => {
    const { ensure, told } = setUp();
    await Promise.all([ensure('IfNotPresent'), ensure('IfNotPresent')]);
    expect(told).toEqual(['pulling', 'pulling']);
  });
});
