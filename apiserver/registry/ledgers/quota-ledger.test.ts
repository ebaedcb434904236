import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import type { Pod, ResourceQuotaSpec } from '../../../api/generated/types.ts';
import { keyPrefixOf } from '../../../api/kinds/identity.ts';
import { type KindName, kindNamed } from '../../../api/kinds/index.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { KindCache } from '../../watch/kind-cache.ts';
import type { Planned } from './ledger.ts';
import { QuotaLedger } from './quota-ledger.ts';

type Hard = Record<string, string>;
const quantities = (texts: Hard) => Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));

/** A ledger over the caches of some kinds, and a store whose changes the caches show when they are told to. */
function createWorld(kinds: readonly KindName[] = ['Pod', 'ResourceQuota', 'Secret']) {
  let now = 0;
  let revision = 1;
  const ledger = new QuotaLedger(() => now);
  const caches = new Map(kinds.map((name) => [name, new KindCache(kindNamed(name))]));
  for (const cache of caches.values()) {
    cache.reset([], revision);
    ledger.observe(cache);
  }
  const of = (name: KindName) => ({ kind: kindNamed(name), cache: caches.get(name)! });
  const key = (kind: KindName, name: string, namespace = 'team') => `${keyPrefixOf(kindNamed(kind))}${namespace}/${name}`;
  const bytesOf = (kind: KindName, object: ApiObject) => encodeMessage(kindNamed(kind).message, object);
  const show = (kind: KindName, name: string, object: ApiObject | undefined, at = ++revision) => {
    const bytes = bytesOf(kind, object ?? {});
    of(kind).cache.apply({ type: object ? 'put' : 'delete', key: key(kind, name), bytes, revision: at, durability: 'synced' });
    for (const cache of caches.values()) cache.advance(at);
  };
  return {
    ledger,
    caches,
    key,
    bytesOf,
    show,
    next: () => ++revision,
    pass: (ms: number) => (now += ms),
    quota(name: string, hard: Hard, more: ResourceQuotaSpec = {}, status = {}) {
      const metadata = { name, namespace: 'team' };
      show('ResourceQuota', name, { metadata, spec: { hard: quantities(hard), ...more }, status } as ApiObject);
    },
    /** Checks and reserves a write, as a store does. */
    plan(kind: KindName, name: string, object: ApiObject, verb?: string): Planned | undefined {
      const { cache } = of(kind);
      const demand = ledger.demandOf(kindNamed(kind), { ...object, metadata: { name, namespace: 'team' } }, verb);
      const write = { key: key(kind, name), bytes: bytesOf(kind, object), ...(verb !== undefined && { verb }), demand };
      ledger.check(write, { kind, name }, cache);
      return ledger.reserve(write, cache);
    },
    used: (quota = 'q') => ledger.usedOf('team', quota),
  };
}

const pod = (cpu = '100m', more: Partial<Pod> = {}): Pod => ({
  spec: { containers: [{ name: 'c', resources: { requests: { cpu: { string: cpu } } } }] },
  ...more,
});

describe('a quota', () => {
  it('counts a write from the moment it is planned, once, until it shows or has failed', () => {
    const { plan, show, next, quota, used } = createWorld();
    quota('q', { pods: '2' });
    const [first, second] = [plan('Pod', 'a', pod()), plan('Pod', 'b', pod())];
    expect(() => plan('Pod', 'c', pod())).toThrow(
      'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
    );
    second?.cancel();
    expect(used()).toEqual({ pods: 1 });
    const at = next();
    first?.settle(at);
    show('Pod', 'a', pod(), at);
    expect(used()).toEqual({ pods: 1 });
    const late = plan('Pod', 'b', pod());
    const after = next();
    show('Pod', 'b', pod(), after);
    expect(used()).toEqual({ pods: 2 });
    late?.settle(after);
    expect(used()).toEqual({ pods: 2 });
  });

  it('is refused with the code and the message of Kubernetes', () => {
    const { plan, quota } = createWorld();
    quota('q', { 'requests.cpu': '150m', secrets: '0' });
    plan('Pod', 'a', pod());
    expect(() => plan('Pod', 'b', pod())).toThrow(
      expect.objectContaining({
        code: 'PERMISSION_DENIED',
        message:
          'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=100m, used: requests.cpu=100m, limited: requests.cpu=150m',
      }),
    );
    expect(() => plan('Pod', 'b', { spec: { containers: [{ name: 'c' }] } } as ApiObject)).toThrow(
      'pods "b" is forbidden: failed quota: q: must specify requests.cpu for: c',
    );
    expect(() => plan('Secret', 's', {})).toThrow('secrets "s" is forbidden: exceeded quota: q, requested: secrets=1');
  });

  it('counts what there was before it, and what was under way when it came', () => {
    const { plan, show, quota, used, next } = createWorld();
    show('Pod', 'old', pod('1'));
    const crossing = plan('Pod', 'new', pod('2'));
    quota('q', { 'requests.cpu': '4' });
    expect(used()).toEqual({ 'requests.cpu': 3_000 });
    const at = next();
    show('Pod', 'new', pod('2'), at);
    crossing?.settle(at);
    expect(used()).toEqual({ 'requests.cpu': 3_000 });
  });

  it('is not used by other namespaces, by pods that have ended, or by what was deleted', () => {
    const { show, quota, used } = createWorld();
    quota('q', { pods: '5', 'count/pods': '5' });
    show('Pod', 'a', pod('1', { status: { phase: 'Succeeded' } }));
    show('Pod', 'b', pod());
    show('Pod', 'c', pod());
    expect(used()).toEqual({ pods: 2, 'count/pods': 3 });
    show('Pod', 'b', undefined);
    expect(used()).toEqual({ pods: 1, 'count/pods': 2 });
  });

  it('that is lowered below its use stops new things only', () => {
    const { plan, show, quota } = createWorld();
    quota('q', { pods: '5', 'requests.cpu': '4' });
    show('Pod', 'a', pod('2'));
    quota('q', { pods: '0', 'requests.cpu': '1' });
    expect(() => plan('Pod', 'b', pod())).toThrow('used: pods=1,requests.cpu=2, limited: pods=0,requests.cpu=1');
    expect(() => plan('Pod', 'a', pod('1'), 'update-resize')).not.toThrow();
    expect(() => plan('Pod', 'a', pod('2'), 'update')).not.toThrow();
    expect(() => plan('Pod', 'a', pod('3'), 'update-resize')).toThrow('requested: requests.cpu=1, used: requests.cpu=2');
  });

  it('bounds resizes by what they take more, and asks them what a create is asked', () => {
    const { plan, show, quota, used, next } = createWorld();
    quota('q', { 'requests.cpu': '3' });
    show('Pod', 'a', pod('1'));
    const grown = plan('Pod', 'a', pod('3'), 'patch-resize');
    expect(used()).toEqual({ 'requests.cpu': 3_000 });
    expect(() => plan('Pod', 'b', pod('1m'))).toThrow('exceeded quota');
    const at = next();
    grown?.settle(at);
    show('Pod', 'a', pod('3'), at);
    const shrunk = plan('Pod', 'a', pod('1'), 'patch-resize');
    expect(used()).toEqual({ 'requests.cpu': 3_000 });
    const later = next();
    shrunk?.settle(later);
    show('Pod', 'a', pod('1'), later);
    expect(used()).toEqual({ 'requests.cpu': 1_000 });
    const silent = { spec: { containers: [{ name: 'c' }] } } as ApiObject;
    expect(() => plan('Pod', 'a', silent, 'update-resize')).toThrow('must specify requests.cpu for: c');
    expect(() => plan('Pod', 'a', silent, 'update')).not.toThrow();
  });

  it('lets agents report, and pods be bound and deleted, whatever is in use', () => {
    const { plan, show, quota } = createWorld();
    show('Pod', 'a', pod('1'));
    quota('q', { 'requests.cpu': '0' });
    for (const verb of ['patch-status', 'bind', 'delete', 'finalize']) expect(plan('Pod', 'a', pod('2'), verb)).toBeUndefined();
  });

  it('is not rebuilt by a change of its status', () => {
    const { show, quota, used, ledger } = createWorld();
    quota('q', { pods: '5' });
    show('Pod', 'a', pod());
    const before = ledger.usedOf('team', 'q');
    quota('q', { pods: '5' }, {}, { used: { pods: { string: '1' } } });
    expect(ledger.usedOf('team', 'q')).toBe(before);
    quota('q', { pods: '6' });
    expect(used()).toEqual({ pods: 1 });
  });

  it('that is gone bounds nothing; another one goes on', () => {
    const { plan, show, quota, used } = createWorld();
    quota('q', { pods: '1' });
    quota('r', { 'requests.cpu': '1' });
    show('Pod', 'a', pod());
    show('ResourceQuota', 'q', undefined);
    expect(used()).toBeUndefined();
    expect(() => plan('Pod', 'b', pod('1'))).toThrow('exceeded quota: r,');
    show('ResourceQuota', 'r', undefined);
    expect(() => plan('Pod', 'b', pod('100'))).not.toThrow();
  });

  it('counts pods that are stuck on their way out until twice their grace, looked up when it matters', () => {
    const { plan, show, quota, pass } = createWorld();
    quota('q', { pods: '1' });
    show('Pod', 'a', pod('1', { metadata: { deletionTimestamp: { seconds: 30 }, deletionGracePeriodSeconds: 30 } }));
    pass(60_000);
    expect(() => plan('Pod', 'b', pod())).toThrow('exceeded quota');
    pass(1);
    expect(() => plan('Pod', 'b', pod())).not.toThrow();
  });

  it('is counted itself, and so is every kind', () => {
    const { plan, quota } = createWorld();
    quota('q', { resourcequotas: '1', 'count/secrets': '1' });
    expect(() => plan('ResourceQuota', 'r', {})).toThrow(
      'resourcequotas "r" is forbidden: exceeded quota: q, requested: resourcequotas=1, used: resourcequotas=1, limited: resourcequotas=1',
    );
    plan('Secret', 'a', {});
    expect(() => plan('Secret', 'b', {})).toThrow('requested: count/secrets=1');
  });

  it('goes on after its cache, or that of what it counts, starts afresh', () => {
    const { caches, key, bytesOf, quota, used, plan, next } = createWorld();
    quota('q', { pods: '9' });
    plan('Pod', 'stored', pod())?.settle(next());
    plan('Pod', 'open', pod());
    caches.get('Pod')!.reset([{ key: key('Pod', 'stored'), bytes: bytesOf('Pod', pod()), revision: 3 }], 9);
    expect(used()).toEqual({ pods: 2 });
    const entry = caches.get('ResourceQuota')!.get(key('ResourceQuota', 'q'))!;
    caches.get('ResourceQuota')!.reset([{ key: entry.key, bytes: entry.bytes, revision: entry.revision }], 9);
    expect(used()).toEqual({ pods: 2 });
  });
});

/** A store that decides at once, whose answers and events come later, each in an order of their own. */
interface Write {
  readonly planned: Planned | undefined;
  readonly revision: number;
}

type Step = 'create' | 'resize' | 'end' | 'delete' | 'lose' | 'answer' | 'show' | 'reload';
const steps = fc.array(
  fc.record({
    step: fc.constantFrom<Step>(
      'create',
      'create',
      'resize',
      'end',
      'delete',
      'lose',
      'answer',
      'answer',
      'show',
      'show',
      'reload',
    ),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    cpu: fc.integer({ min: 1, max: 5 }),
  }),
  { maxLength: 60 },
);

it('is never exceeded, never refuses what there is room for, and is exact when all has been shown', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const world = createWorld();
      world.quota('q', { pods: '3', 'requests.cpu': '9' });
      const stored = new Map<string, Pod>();
      const events: { name: string; object: Pod | undefined; revision: number }[] = [];
      const unanswered: Write[] = [];
      const truth = () => {
        const live = [...stored.values()].filter(({ status }) => !status?.phase);
        const cpu = live.reduce((sum, { spec }) => sum + Number(spec?.containers?.[0]?.resources?.requests?.cpu?.string), 0);
        return { pods: live.length, 'requests.cpu': cpu * 1000 };
      };
      const put = (name: string, object: Pod | undefined, planned?: Planned): void => {
        if (object) stored.set(name, object);
        else stored.delete(name);
        const revision = world.next();
        events.push({ name, object, revision });
        unanswered.push({ planned, revision });
      };
      const showOne = (): void => {
        const event = events.shift();
        if (event) world.show('Pod', event.name, event.object, event.revision);
      };
      /** Refusals are right when even the smaller of what was and will be leaves no room. */
      const tryPlan = (name: string, object: Pod, verb?: string): Planned | undefined => {
        const isQuiet = events.length === 0 && unanswered.length === 0;
        try {
          return world.plan('Pod', name, object, verb) ?? { cancel() {}, settle() {} };
        } catch {
          if (!isQuiet) return undefined;
          const others = new Map(stored).set(name, object);
          const [before, total] = [truth(), [...others.values()].filter(({ status }) => !status?.phase)];
          const cpu = total.reduce((sum, { spec }) => sum + Number(spec?.containers?.[0]?.resources?.requests?.cpu?.string), 0);
          expect(total.length > 3 || cpu > 9, `refused with ${JSON.stringify(before)}`).toBe(true);
          return undefined;
        }
      };
      for (const { step, name, cpu } of sequence) {
        const there = stored.get(name);
        if (step === 'create') {
          const planned = tryPlan(name, pod(String(cpu)));
          if (planned && there) planned.cancel();
          else if (planned) put(name, pod(String(cpu)), planned);
        } else if (step === 'lose') tryPlan(name, pod(String(cpu)))?.cancel();
        else if (step === 'resize' && there && !there.status) {
          const planned = tryPlan(name, pod(String(cpu)), 'update-resize');
          if (planned) put(name, pod(String(cpu)), planned);
        } else if (step === 'end' && there) put(name, { ...there, status: { phase: 'Failed' } });
        else if (step === 'delete' && there) put(name, undefined);
        else if (step === 'answer') {
          const write = unanswered.shift();
          write?.planned?.settle(write.revision);
        } else if (step === 'show') showOne();
        else if (step === 'reload') {
          const items = [...stored].map(([each, object]) => ({
            key: world.key('Pod', each),
            bytes: world.bytesOf('Pod', object),
            revision: 1,
          }));
          events.length = 0;
          world.caches.get('Pod')!.reset(items, world.next());
        }
        const [is, used] = [truth(), world.used()!];
        expect(is.pods).toBeLessThanOrEqual(3);
        expect(is['requests.cpu']).toBeLessThanOrEqual(9_000);
        expect(used.pods ?? 0).toBeGreaterThanOrEqual(is.pods);
        expect(used['requests.cpu'] ?? 0).toBeGreaterThanOrEqual(is['requests.cpu']);
      }
      while (events.length > 0) showOne();
      for (const { planned, revision } of unanswered) planned?.settle(revision);
      const is = truth();
      expect({ pods: 0, 'requests.cpu': 0, ...world.used() }).toEqual(is);
    }),
    { numRuns: 500 },
  );
});
