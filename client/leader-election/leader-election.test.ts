import { describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { Lease } from '../../api/generated/types.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { type LeaderElectionOptions, LeadershipOverrunError, runLeaderElected } from './leader-election.ts';

const key = 'kube-system/work';

function setup(objects: readonly Lease[] = []) {
  const clock = createFakeClock();
  const leases = createFakeResourceClient<Lease>({ kind: 'Lease', objects });
  /** What happened, in order. */
  const log: string[] = [];

  /** A candidate whose work lasts until its signal aborts, and then as long as `lingerMs`. */
  function candidate(identity: string, options: Partial<LeaderElectionOptions> & { readonly lingerMs?: number } = {}) {
    const stop = new AbortController();
    const { lingerMs = 0, ...rest } = options;
    const lead = async (signal: AbortSignal) => {
      log.push(`${identity} leads`);
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      log.push(`${identity} stops`);
      if (lingerMs > 0) await new Promise<void>((resolve) => clock.after(lingerMs, resolve));
    };
    const election = { leases, name: 'work', identity, clock, random: () => 0, logger: createFakeLogger(), ...rest };
    const end = runLeaderElected(election, lead, stop.signal);
    end.catch(() => {});
    return {
      end,
      async stop() {
        stop.abort();
        for (let turn = 0; turn < 5; turn++) await settle();
      },
    };
  }

  const stored = () => leases.stored(key)?.spec;
  return { clock, leases, log, candidate, stored };
}

/** A clock whose hands are wrong. */
const skewed = (clock: ReturnType<typeof createFakeClock>, ms: number) => ({
  now: () => clock.now() + ms,
  after: clock.after,
});

/** Another program's lease. */
const leaseOf = (holderIdentity: string, leaseDurationSeconds = 15): Lease => ({
  metadata: { namespace: 'kube-system', name: 'work' },
  spec: { holderIdentity, leaseDurationSeconds, leaseTransitions: 4 },
});

describe('runLeaderElected', () => {
  it('takes a lease that is not there, says in it who holds it since when, and renews it', async () => {
    const { clock, candidate, stored, log } = setup();
    const a = candidate('a');
    await clock.advance(0);
    const { seconds } = stored()!.acquireTime!;
    expect(stored()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: { seconds },
      renewTime: { seconds },
    });
    await clock.advance(60_000);
    expect(stored()).toMatchObject({ acquireTime: { seconds }, renewTime: { seconds: seconds! + 60 } });
    await a.stop();
    expect(await a.end).toBe('ended');
    expect(log).toEqual(['a leads', 'a stops']);
  });

  it('lets one of several lead, and the next at once when that one stops', async () => {
    const { clock, candidate, stored, log } = setup();
    const all = ['a', 'b', 'c'].map((name) => candidate(name));
    await clock.advance(100_000);
    expect(log).toEqual(['a leads']);
    await all[0]!.stop();
    expect(log).toEqual(['a leads', 'a stops', 'b leads']);
    expect(stored()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    await all[1]!.stop();
    await all[2]!.stop();
    expect(stored()?.holderIdentity).toBeUndefined();
  });

  it('releases the lease only when the work has ended, and renews it until then', async () => {
    const { clock, candidate, stored } = setup();
    const a = candidate('a', { lingerMs: 40_000 });
    candidate('b');
    await clock.advance(0);
    await a.stop();
    await clock.advance(39_000);
    expect(stored()?.holderIdentity).toBe('a');
    await clock.advance(1_000);
    expect([stored()?.holderIdentity, await a.end]).toEqual(['b', 'ended']);
  });

  it('takes over from a holder that died when its lease has not changed for its duration, whatever the clocks say', async () => {
    const { clock, candidate, stored, log } = setup([leaseOf('dead', 7)]);
    candidate('b', { clock: skewed(clock, 3_600_000) });
    await clock.advance(6_900);
    clock.skew(86_400_000);
    await clock.advance(50);
    expect(log).toEqual([]);
    await clock.advance(2_050);
    expect(stored()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 5 });
  });

  it('takes over at once when another program releases the lease with an empty holder, as client-go does', async () => {
    const { clock, candidate, leases, stored } = setup([leaseOf('other', 600)]);
    candidate('b');
    await clock.advance(1_000);
    const now = { seconds: 20 };
    leases.put({
      metadata: { namespace: 'kube-system', name: 'work' },
      spec: { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 4, acquireTime: now, renewTime: now },
    });
    await clock.advance(0);
    expect(stored()).toMatchObject({ holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 5 });
  });

  it.each([
    ['when its duration has passed since the last renewal', true, 10_000],
    ['with what a retry takes besides where the watch fails', false, 14_400],
  ])('takes over from a holder that died %s', async (_, canWatch, mostMs) => {
    const { clock, candidate, leases, log } = setup();
    const times = { leaseDurationMs: 10_000, renewDeadlineMs: 6_000, retryPeriodMs: 2_000 };
    const network = { ...leases };
    candidate('a', { leases: network, ...times });
    await clock.advance(0);
    const watch: typeof leases.watch = canWatch
      ? leases.watch
      : () => {
          throw unavailable('no watch');
        };
    // Attempts at 0 s, 4.4 s, 8.8 s and so on.
    candidate('b', { leases: { ...leases, watch }, ...times, random: () => 0.999 });
    await clock.advance(6_000);
    Object.assign(network, { get: reject, update: reject });
    await clock.advance(9_900);
    expect(log).toEqual(['a leads', 'a stops']);
    await clock.advance(mostMs - 9_900);
    expect(log).toEqual(['a leads', 'a stops', 'b leads']);
  });

  it('stands by as long as the lease changes, also under a holder whose clock stands still', async () => {
    const { clock, candidate, leases, log } = setup([leaseOf('other')]);
    candidate('b');
    for (let second = 0; second < 120; second += 5) {
      await clock.advance(5_000);
      leases.put(leaseOf('other'));
    }
    expect(log).toEqual([]);
  });

  it('stops leading 10 s after the last renewal that succeeded, before the other begins, and tells', async () => {
    const { clock, candidate, leases, log } = setup();
    const cut = { ...leases, get: reject, update: reject };
    const network = { ...leases };
    const a = candidate('a', { leases: network });
    await clock.advance(5_000);
    Object.assign(network, cut);
    // The last renewal was at 4 s.
    candidate('b');
    await clock.advance(8_900);
    expect(log).toEqual(['a leads']);
    await clock.advance(200);
    expect(log).toEqual(['a leads', 'a stops']);
    expect(await a.end).toBe('lost');
    await clock.advance(8_000);
    expect(log).toEqual(['a leads', 'a stops', 'b leads']);
  });

  it('leads on through an outage that is shorter than the deadline', async () => {
    const { clock, candidate, leases, log } = setup();
    candidate('a');
    await clock.advance(1_000);
    leases.failNext('update', unavailable('away'), 2);
    leases.failNext('get', unavailable('away'), 1);
    await clock.advance(60_000);
    expect(log).toEqual(['a leads']);
  });

  it('stops at once when another candidate holds the lease', async () => {
    const { clock, candidate, leases, log } = setup();
    const a = candidate('a');
    await clock.advance(1_000);
    leases.put(leaseOf('usurper'));
    await clock.advance(1_000);
    expect([await a.end, log]).toEqual(['lost', ['a leads', 'a stops']]);
    expect(leases.stored(key)?.spec?.holderIdentity).toBe('usurper');
  });

  it('goes on leading when a renewal arrived whose answer was lost', async () => {
    const { clock, candidate, leases, log } = setup();
    let lost = 0;
    const update: typeof leases.update = async (...call) => {
      await leases.update(...call);
      lost++;
      throw unavailable('the answer is lost');
    };
    const network = { ...leases };
    candidate('a', { leases: network });
    await clock.advance(1_000);
    network.update = update;
    await clock.advance(6_000);
    network.update = leases.update;
    await clock.advance(60_000);
    expect([lost > 0, log]).toEqual([true, ['a leads']]);
  });

  it('does not take a lease that was deleted under its holder until its time is over; the holder makes it again', async () => {
    const { clock, candidate, leases, log, stored } = setup();
    candidate('a', { retryPeriodMs: 5_000 });
    await clock.advance(0);
    candidate('b', { retryPeriodMs: 1_000 });
    await clock.advance(6_000);
    leases.remove(key);
    await clock.advance(3_000);
    expect(stored()).toBeUndefined();
    await clock.advance(60_000);
    expect([log, stored()?.holderIdentity]).toEqual([['a leads'], 'a']);
  });

  it('throws when the work goes on after the lease was lost, so that the process can be ended', async () => {
    const { clock, candidate, leases } = setup();
    const a = candidate('a', { lingerMs: 1_000_000 });
    await clock.advance(0);
    leases.put(leaseOf('usurper'));
    await clock.advance(7_100);
    await expect(a.end).rejects.toThrow(LeadershipOverrunError);
    await expect(a.end).rejects.toThrow('lease "kube-system/work" was lost 5 s ago');
  });

  it('waits for fenced work that goes on after the lease was lost', async () => {
    const { clock, candidate, leases } = setup();
    const a = candidate('a', { lingerMs: 20_000, isFenced: true });
    await clock.advance(0);
    leases.put(leaseOf('usurper'));
    await clock.advance(15_000);
    let end: string | undefined;
    void a.end.then((how) => {
      end = how;
    });
    await clock.advance(1_000);
    expect(end).toBeUndefined();
    await clock.advance(10_000);
    expect(end).toBe('lost');
  });

  it('releases the lease when the work fails, and throws what it threw', async () => {
    const { leases, stored, clock } = setup();
    const failing = runLeaderElected(
      { leases, name: 'work', identity: 'a', clock, logger: createFakeLogger() },
      async () => {
        throw new Error('no work today');
      },
      new AbortController().signal,
    );
    await expect(failing).rejects.toThrow('no work today');
    expect(stored()).toMatchObject({ leaseDurationSeconds: 1 });
    expect(stored()?.holderIdentity).toBeUndefined();
  });

  it('stands by while the server is away, and takes the lease when it is back', async () => {
    const { clock, candidate, leases, log } = setup();
    leases.failNext('get', unavailable('away'), 5);
    candidate('a');
    await clock.advance(9_000);
    expect(log).toEqual([]);
    await clock.advance(2_000);
    expect(log).toEqual(['a leads']);
  });

  it('ends without having led when it is stopped while it stands by, and leaves no timer behind', async () => {
    const { clock, candidate, leases, log } = setup([leaseOf('other')]);
    const a = candidate('a');
    await clock.advance(3_000);
    await a.stop();
    expect([await a.end, log, clock.pending, leases.watchers]).toEqual(['ended', [], 0, 0]);
  });

  it('tells who leads, whenever that is another', async () => {
    const { clock, candidate } = setup();
    const told: string[] = [];
    const a = candidate('a');
    await clock.advance(0);
    candidate('b', { onLeader: (identity) => told.push(identity) });
    await clock.advance(10_000);
    await a.stop();
    expect(told).toEqual(['a', 'b']);
  });

  it.each([
    [
      { leaseDurationMs: 1_500, renewDeadlineMs: 1_000, retryPeriodMs: 100 },
      'the lease duration, 1500 ms, must be whole seconds',
    ],
    [{ leaseDurationMs: 10_000 }, 'the renew deadline, 10000 ms, must be less than the lease duration, 10000 ms'],
    [{ renewDeadlineMs: 2_400 }, 'must be more than 1.2 times the retry period'],
    [{ retryPeriodMs: 0 }, 'the retry period, 0 ms, must be more than 0'],
    [{ leaseDurationMs: Number.NaN }, 'whole seconds'],
  ])('refuses figures that cannot work: %j', async (figures, message) => {
    const { candidate } = setup();
    await expect(candidate('a', figures).end).rejects.toThrow(message);
  });
});

async function reject(): Promise<never> {
  throw unavailable('cut off');
}
