import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createSilence } from './silence.ts';

const graceMs = 30_000;

/** As the controller uses it: a doubtful node is confirmed at once, unless the server is away. */
function setup() {
  const clock = createFakeClock();
  const silence = createSilence({ clock, graceMs });
  const woken: string[] = [];
  const disconnect = silence.connect((name) => {
    woken.push(name);
    if (silence.isInDoubt(name)) silence.confirm(name);
  });
  return { clock, silence, woken, disconnect };
}

describe('silence', () => {
  it('is a whole period without a change, and wakes exactly when its halves end', async () => {
    const { clock, silence, woken } = setup();
    silence.observe('n1', 'a');
    await clock.advance(graceMs - 1);
    expect([silence.isSilent('n1'), woken]).toEqual([false, ['n1']]);
    await clock.advance(1);
    expect([silence.isSilent('n1'), woken, clock.pending]).toEqual([true, ['n1', 'n1'], 0]);
  });

  it('begins afresh with every change, and not when the same is seen again', async () => {
    const { clock, silence } = setup();
    silence.observe('n1', 'a');
    await clock.advance(29_000);
    silence.observe('n1', 'b');
    await clock.advance(29_000);
    silence.observe('n1', 'b');
    expect(silence.isSilent('n1')).toBe(false);
    await clock.advance(1_000);
    expect(silence.isSilent('n1')).toBe(true);
    silence.observe('n1', 'c');
    expect(silence.isSilent('n1')).toBe(false);
  });

  it('does not look at the wall clock, which may be set', async () => {
    const { clock, silence } = setup();
    silence.observe('n1', 'a');
    clock.skew(86_400_000);
    await clock.advance(1_000);
    clock.skew(-2 * 86_400_000);
    expect(silence.isSilent('n1')).toBe(false);
    await clock.advance(29_000);
    expect(silence.isSilent('n1')).toBe(true);
  });

  it('counts no time that was not confirmed, however late its timers come', async () => {
    const clock = createFakeClock();
    const silence = createSilence({ clock, graceMs });
    silence.connect(() => {});
    silence.observe('n1', 'a');
    await clock.advance(3_600_000);
    expect([silence.isInDoubt('n1'), silence.isSilent('n1')]).toEqual([true, false]);
    silence.confirm('n1');
    expect([silence.isInDoubt('n1'), silence.isSilent('n1')]).toEqual([false, false]);
  });

  it('begins afresh for every node on demand, also for those that were silent', async () => {
    const { clock, silence } = setup();
    silence.observe('n1', 'a');
    await clock.advance(20_000);
    silence.observe('n2', 'a');
    await clock.advance(10_000);
    expect(silence.isSilent('n1')).toBe(true);
    silence.restart();
    expect(silence.isSilent('n1')).toBe(false);
    await clock.advance(graceMs - 1);
    expect([silence.isSilent('n1'), silence.isSilent('n2')]).toEqual([false, false]);
    await clock.advance(1);
    expect([silence.isSilent('n1'), silence.isSilent('n2')]).toEqual([true, true]);
  });

  it('leaves no timer behind for nodes that are gone, nor after its end', () => {
    const { clock, silence, disconnect } = setup();
    silence.observe('n1', 'a');
    silence.observe('n2', 'a');
    silence.forget('n1');
    expect([clock.pending, silence.isSilent('n1'), silence.heardAt('n1')]).toEqual([1, false, undefined]);
    disconnect();
    expect(clock.pending).toBe(0);
  });

  it('holds of a node exactly when its last change is a period ago, whatever happened before', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
      fc.record({ kind: fc.constant('sign' as const), sign: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ kind: fc.constant('restart' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const { clock, silence } = setup();
        silence.observe('n1', 'a');
        let [sign, quietMs] = ['a', 0];
        for (const each of steps) {
          if (each.kind === 'wait') {
            await clock.advance(each.ms);
            quietMs += each.ms;
          } else if (each.kind === 'restart') {
            silence.restart();
            quietMs = 0;
          } else {
            silence.observe('n1', each.sign);
            if (each.sign !== sign) [sign, quietMs] = [each.sign, 0];
          }
          expect(silence.isSilent('n1')).toBe(quietMs >= graceMs);
        }
      }),
      { numRuns: 50 },
    );
  });
});
