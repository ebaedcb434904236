import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { createFakeClock, type FakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient, type FakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import type { Clock } from '../clock.ts';
import type { CallOptions } from '../services/resource-client.ts';
import { type LeaderElectionOptions, runLeaderElected } from './leader-election.ts';

type Leases = LeaderElectionOptions['leases'];

/** What happens to one candidate's calls. 'deaf': they arrive, and the answers do not. */
type Weather = 'fair' | 'cut' | 'deaf' | 'slow';

const candidates = 3;
const slowMs = 3_000;

/** A client as it is behind a bad network: calls hang until their time is up. */
function behind(leases: FakeResourceClient<Lease>, clock: Clock, weather: () => Weather): Leases {
  function hang(call: CallOptions | undefined): Promise<never> {
    return new Promise((_, fail) => {
      const end = () => fail(unavailable('no answer'));
      const cancel = clock.after(call?.timeoutMs ?? 30_000, end);
      call?.signal?.addEventListener('abort', () => {
        cancel();
        end();
      });
    });
  }
  async function carry<R>(call: CallOptions | undefined, make: () => Promise<R>): Promise<R> {
    const now = weather();
    if (now === 'cut') return hang(call);
    // The server carries it out when it arrives, whether or not the caller still waits for that.
    if (now === 'slow') await new Promise<void>((resolve) => void clock.after(slowMs, resolve));
    const answer = await make();
    return now === 'deaf' ? hang(call) : answer;
  }
  return {
    get: (key, call) => carry(call, () => leases.get(key)),
    create: (lease, options, call) => carry(call, () => leases.create(lease, options)),
    update: (lease, options, call) => carry(call, () => leases.update(lease, options)),
    watch: leases.watch,
  };
}

interface Change {
  readonly afterMs: number;
  readonly who: number;
  readonly to: Weather | 'stop' | 'skew';
}

const change: fc.Arbitrary<Change> = fc.record({
  afterMs: fc.integer({ min: 0, max: 12_000 }),
  who: fc.integer({ min: 0, max: candidates - 1 }),
  to: fc.constantFrom('fair', 'fair', 'cut', 'deaf', 'slow', 'stop', 'skew' as const),
});

/** Each candidate comes back as often as it loses or is stopped. */
function startCandidate(index: number, leases: FakeResourceClient<Lease>, clock: FakeClock) {
  const state = { weather: 'fair' as Weather, skewMs: index * 1e7, leads: false, terms: 0 };
  const own: Clock = { now: () => clock.now() + state.skewMs, after: clock.after };
  let stop = new AbortController();
  let isOver = false;
  const lead = async (signal: AbortSignal) => {
    state.leads = !signal.aborted;
    state.terms++;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    state.leads = false;
  };
  const run = async () => {
    while (!isOver) {
      stop = new AbortController();
      const network = behind(leases, clock, () => state.weather);
      const options = { leases: network, name: 'work', identity: `c${index}`, clock: own, random: () => index / 3 };
      await runLeaderElected({ ...options, logger: createFakeLogger() }, lead, stop.signal);
    }
  };
  const running = run();
  return {
    state,
    stop: () => stop.abort(),
    async end() {
      isOver = true;
      state.weather = 'fair';
      stop.abort();
      for (let turn = 0; turn < 20; turn++) await clock.advance(5_000);
      await running;
    },
  };
}

it('never lets two lead at once, whatever the network and the clocks do, and one when they are well again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 25 }), async (changes) => {
      const clock = createFakeClock();
      const leases = createFakeResourceClient<Lease>({ kind: 'Lease' });
      const all = Array.from({ length: candidates }, (_, index) => startCandidate(index, leases, clock));
      const leaders = () => all.filter(({ state }) => state.leads).length;
      const pass = async (ms: number) => {
        for (let passed = 0; passed < ms; passed += 500) {
          await clock.advance(Math.min(500, ms - passed));
          expect(leaders()).toBeLessThanOrEqual(1);
        }
      };
      for (const { afterMs, who, to } of changes) {
        await pass(afterMs);
        const { state, stop } = all[who]!;
        if (to === 'stop') stop();
        else if (to === 'skew') state.skewMs -= 3_600_000;
        else state.weather = to;
        await settle();
      }
      for (const { state } of all) state.weather = 'fair';
      await pass(40_000);
      expect(leaders()).toBe(1);
      for (const { end } of all) await end();
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 60 },
  );
}, 60_000);
