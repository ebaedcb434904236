import { describe, expect, it } from 'vitest';
import { dead, now } from '../../test/builders/plan.ts';
import { computeRestart, restartBackOff } from './back-off.ts';
import { allSeenAt, justMade, type SeenContainer, seenAt } from './own-clock.ts';

const minutes = 60_000;
const crashed = (finishedMs: number) =>
  dead('app', 1, 0, { restartsInRow: 1, startedAt: new Date(finishedMs - 1_000), finishedAt: new Date(finishedMs) });
const running = (seenAtMs: number): SeenContainer => ({ ...crashed(0), state: 'running', finishedAt: undefined, seenAtMs });
/** How long after `now` it may run again. */
const waitOf = (ended: SeenContainer, nowMs = now) => computeRestart(ended, nowMs, restartBackOff).notBefore - now;

describe("when a container ended, by the agent's own clock", () => {
  it('is what the engine says when the clocks agree', () => {
    expect(seenAt(now, crashed(now - 700), running(now - 2_000)).endedAtMs).toBe(now - 700);
  });

  it('is not before it was last seen alive: an agent whose clock is ahead waits all the same', () => {
    const ended = seenAt(now, crashed(now - 10 * minutes), running(now - 1_000));
    expect(waitOf(ended)).toBe(9_000);
  });

  it('is not after it was first seen: an agent whose clock is behind waits no longer, however often it looks', () => {
    const first = seenAt(now, crashed(now + 10 * minutes), running(now - 1_000));
    const later = seenAt(now + 8_000, crashed(now + 10 * minutes), first);
    expect([waitOf(first), waitOf(later, now + 8_000)]).toEqual([10_000, 10_000]);
  });

  it('is the moment of its making for one that ended at once', () => {
    expect(justMade(now, crashed(now - 10 * minutes)).endedAtMs).toBe(now);
  });

  it('is kept over lists by the container, and what is new there is what the engine says', () => {
    const kept = seenAt(now - 5_000, crashed(now + minutes), undefined);
    const other = { ...crashed(now - 2_000), id: 'other' };
    const all = allSeenAt(now, [crashed(now + minutes), other], new Map([[kept.id, kept]]));
    expect([...all.values()].map(({ endedAtMs }) => endedAtMs)).toEqual([now - 5_000, now - 2_000]);
  });
});
