import { describe, expect, it } from 'vitest';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import type { LocalImage } from '../runtime/runtime.ts';
import { createImageCollector } from './collector.ts';
import { type CollectionPolicy, computeBytesToFree, computeHistory, decideCollection } from './decide-collection.ts';
import { createImageHolds } from './image-holds.ts';
import type { PullRecord } from './pulled-images.ts';

const policy: CollectionPolicy = { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0, scope: 'pulled', pinned: [] };
const image = (name: string, more: Partial<LocalImage> = {}): LocalImage => ({
  id: `id-${name}`,
  names: [name],
  sizeBytes: 10,
  ...more,
});
const own = (name: string): PullRecord => ({ names: [name], access: {} });
const old = { firstSeenAt: 0, lastUsedAt: Number.NEGATIVE_INFINITY };
const nowMs = 1_000_000_000;

describe('how much has to become free', () => {
  it.each([
    [100, 16, 0],
    [100, 15, 5],
    [100, 0, 20],
    [0, 0, 0],
    [100, 200, 0],
  ])('of %i bytes with %i available: %i', (capacityBytes, availableBytes, expected) => {
    expect(computeBytesToFree({ capacityBytes, availableBytes }, policy)).toBe(expected);
  });

  it('is nothing when it is turned off', () => {
    expect(computeBytesToFree({ capacityBytes: 100, availableBytes: 0 }, { ...policy, highPercent: 100 })).toBe(0);
  });
});

describe('an image', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  interface Case {
    readonly image?: LocalImage;
    readonly policy?: Partial<CollectionPolicy>;
    readonly record?: PullRecord | 'none';
    readonly used?: string[];
    readonly wanted?: string[];
    readonly sinceMs?: number;
    readonly history?: { firstSeenAt?: number; lastUsedAt?: number };
  }
  const candidates = (facts: Case) => {
    const one = facts.image ?? image('a:1');
    return decideCollection(
      { ...policy, ...facts.policy },
      {
        images: [one],
        history: new Map([[one.id, { ...old, ...facts.history }]]),
        used: new Set(facts.used ?? []),
        wanted: facts.wanted ?? [],
        nowMs,
        sinceMs: facts.sinceMs ?? 0,
        record: () => (facts.record === 'none' ? undefined : (facts.record ?? own('a:1'))),
      },
    );
  };

  it.each<[string, Case]>([
    ['that Berth pulled and no container uses', {}],
    ['without any name left', { image: image('a:1', { names: [] }) }],
    ['with the digest of its repository beside its tag', { image: image('a:1', { names: ['a:1', `a@${digest}`] }) }],
    ['that was there before, when all may go', { record: 'none', policy: { scope: 'all' } }],
    ['that Berth pulled, though its author pins it with a label', { image: image('a:1', { pinned: true }) }],
    ['that Berth pulled, with that label, when all may go', { image: image('a:1', { pinned: true }), policy: { scope: 'all' } }],
    ['that is old enough', { history: { firstSeenAt: nowMs - 120_000 } }],
  ])('%s may go', (_, facts) => {
    expect(candidates(facts)).toHaveLength(1);
  });

  it.each<[string, Case]>([
    ['that any container uses', { used: ['id-a:1'] }],
    ['that was there before Berth', { record: 'none' }],
    ['that was there before and was pulled again', { record: { names: [], access: {} } }],
    ['that has another tag besides', { image: image('a:1', { names: ['a:1', 'mine:1'] }) }],
    ['that was pushed to another registry', { image: image('a:1', { names: ['a:1', `mine@${digest}`] }) }],
    ['whose label pins it, when all may go', { image: image('a:1', { pinned: true }), record: 'none', policy: { scope: 'all' } }],
    ['that is pinned, however it is written', { policy: { pinned: ['docker.io/library/a:1'], scope: 'all' } }],
    ['that a pod names', { wanted: ['docker.io/a:1'] }],
    ['that a pod names by its digest', { image: image('a:1', { names: [`a@${digest}`] }), wanted: [`a:1@${digest}`] }],
    ['that a pod names by its id', { image: image('a:1', { id: digest }), wanted: [digest] }],
    ['that came just now', { history: { firstSeenAt: nowMs - 119_999 } }],
  ])('%s stays', (_, facts) => {
    expect(candidates(facts)).toEqual([]);
  });

  it.each([
    ['was not used for long', { firstSeenAt: 1, lastUsedAt: nowMs - 700_000 }, true],
    ['was used a while ago', { firstSeenAt: 1, lastUsedAt: nowMs - 500_000 }, false],
    ['was seen for the first time a while ago', { firstSeenAt: nowMs - 500_000 }, false],
    ['was there when the agent started, and was not used since', {}, true],
  ])('that %s has expired: %s', (_, history, expired) => {
    expect(candidates({ policy: { maxAgeMs: 600_000 }, history })).toMatchObject([{ expired }]);
  });

  it('has not expired before the agent has looked for so long', () => {
    expect(candidates({ policy: { maxAgeMs: 600_000 }, sinceMs: nowMs - 500_000 })).toMatchObject([{ expired: false }]);
  });

  it('goes before those that were used later, or came later', () => {
    const images = ['used-now', 'never', 'used-before', 'came-later'].map((name) => image(`${name}:1`));
    const history = new Map([
      ['id-used-now:1', { firstSeenAt: 0, lastUsedAt: 50 }],
      ['id-used-before:1', { firstSeenAt: 0, lastUsedAt: 40 }],
      ['id-never:1', old],
      ['id-came-later:1', { ...old, firstSeenAt: 3 }],
    ]);
    const order = decideCollection(policy, {
      images,
      history,
      used: new Set(),
      wanted: [],
      nowMs,
      sinceMs: 0,
      record: (id) => own(id.slice(3)),
    });
    expect(order.map((each) => each.image.names[0])).toEqual(['never:1', 'came-later:1', 'used-before:1', 'used-now:1']);
  });
});

describe('the history of images', () => {
  it('takes what the first look finds for old, knows since when the rest is there, and forgets what is gone', () => {
    const first = computeHistory(undefined, [image('a'), image('b')], new Set(['id-a']), 10);
    expect([...first.values()]).toEqual([{ firstSeenAt: 0, lastUsedAt: 10 }, old]);
    const second = computeHistory(first, [image('a'), image('c')], new Set(), 20);
    expect([...second]).toEqual([
      ['id-a', { firstSeenAt: 0, lastUsedAt: 10 }],
      ['id-c', { ...old, firstSeenAt: 20 }],
    ]);
  });
});

describe('the collection', () => {
  function setUp({ available = 10, names = ['a:1', 'b:1', 'c:1'], busy = '' } = {}) {
    const clock = createFakeClock();
    const here = new Map(names.map((name) => [name, image(name)]));
    const state = { available };
    const events: string[] = [];
    const holds = createImageHolds();
    let removed = 0;
    const collector = createImageCollector({
      images: {
        list: async () => [...here.values()],
        usedByContainers: async () => new Set<string>(),
        async remove(name) {
          if (name === busy) return false;
          if (here.delete(name)) state.available += 5;
          return true;
        },
      },
      disk: async () => ({ capacityBytes: 100, availableBytes: state.available }),
      records: { get: (id) => own(id.slice(3)), reconcile: (list) => list() },
      holds,
      wanted: () => [],
      onRemoved: () => removed++,
      policy,
      nodeName: 'n1',
      events: {
        event: (about, type, reason, message) => events.push(`${about.kind} ${about.name} ${type} ${reason} ${message}`),
      },
      clock,
      logger: { debug() {}, info() {}, warn() {}, error() {} } as never,
    });
    const stop = new AbortController();
    return { run: () => collector.run(stop.signal), stop, clock, here, state, events, holds, removed: () => removed };
  }

  it('removes until the low threshold is reached, and no more', async () => {
    const { run, here, clock, removed } = setUp();
    void run();
    await settle();
    expect([...here.keys()]).toEqual(['c:1']);
    expect(removed()).toBe(2);
    await clock.advance(600_000);
    expect([...here.keys()]).toEqual(['c:1']);
  });

  it('begins within seconds when the disk fills up between two looks at the images', async () => {
    const { run, here, clock, state } = setUp({ available: 50 });
    void run();
    await clock.advance(150_000);
    expect(here.size).toBe(3);
    state.available = 10;
    await clock.advance(10_000);
    expect(here.size).toBe(1);
  });

  it('passes over what is about to be used, and what a container has come to use', async () => {
    const { run, here, holds } = setUp({ busy: 'b:1' });
    holds.hold('docker.io/library/a:1');
    void run();
    await settle();
    expect([...here.keys()]).toEqual(['a:1', 'b:1']);
  });

  it('says what could not be freed, tries again after 5 minutes, and calls it a failure the second time', async () => {
    const { run, events, clock } = setUp({ available: 5, names: ['a:1'] });
    void run();
    await settle();
    const words =
      'Failed to garbage collect required amount of images. Attempted to free 15 bytes, but only found 10 bytes eligible to free.';
    expect(events).toEqual([`Node n1 Warning FreeDiskSpaceFailed ${words}`]);
    await clock.advance(290_000);
    expect(events).toHaveLength(1);
    await clock.advance(10_000);
    expect(events.slice(1).map((each) => each.split(' ')[3])).toEqual(['FreeDiskSpaceFailed', 'ImageGCFailed']);
  });
});
