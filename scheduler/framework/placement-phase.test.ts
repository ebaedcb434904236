import { describe, expect, it, vi } from 'vitest';
import { conflict, isConflict } from '../../api/errors/index.ts';
import { pod } from '../../test/builders/index.ts';
import { nodeTable } from '../../test/builders/node-table.ts';
import { bindPlacement, reserveAll } from './placement-phase.ts';
import { type AnyPlugin, definePlugin, unschedulable } from './plugin.ts';
import { podInfo } from './pod-info.ts';

const info = podInfo(pod('p').build());
const attempt = { pod: info, nodes: nodeTable([]), now: 0 };
const placement = { pod: info, nodeName: 'n1' };
const participants = (plugins: readonly AnyPlugin[]) =>
  plugins.map((plugin) => ({ plugin, weight: 0, state: undefined, filters: false, scores: false }));
const full = unschedulable('pool is empty', []);

function bind(plugins: readonly AnyPlugin[], { timeoutMs = 1_000, signal = new AbortController().signal } = {}) {
  const profile = { schedulerName: 's', plugins: plugins.map((plugin) => ({ plugin, weight: 0 })) };
  return bindPlacement(placement, { profile, participants: participants(plugins), timeoutMs, signal });
}

describe('reserve', () => {
  function reserving(log: string[], name: string): AnyPlugin {
    return definePlugin({
      name,
      reserve() {
        log.push(`reserve ${name}`);
        return () => void log.push(`undo ${name}`);
      },
    });
  }

  it('undoes in reverse order, once', () => {
    const log: string[] = [];
    const reservation = reserveAll(participants([reserving(log, 'A'), reserving(log, 'B')]), attempt, 'n1');
    if (reservation.kind !== 'reserved') throw new Error('expected a reservation');
    reservation.undo();
    reservation.undo();
    expect(log).toEqual(['reserve A', 'reserve B', 'undo B', 'undo A']);
  });

  it('takes back what others reserved when a plugin refuses', () => {
    const log: string[] = [];
    const refusing = definePlugin({ name: 'No', reserve: () => full });
    const reservation = reserveAll(participants([reserving(log, 'A'), refusing, reserving(log, 'B')]), attempt, 'n1');
    expect(reservation).toEqual({ kind: 'refused', plugin: 'No', rejection: full });
    expect(log).toEqual(['reserve A', 'undo A']);
  });

  it('takes back what others reserved when a plugin throws, and names it', () => {
    const log: string[] = [];
    const failing = definePlugin({ name: 'Bad', reserve: () => fail('boom') });
    expect(() => reserveAll(participants([reserving(log, 'A'), failing]), attempt, 'n1')).toThrow(
      'plugin "Bad" failed in reserve: boom',
    );
    expect(log).toEqual(['reserve A', 'undo A']);
  });

  it.each([undefined, true, {}])('takes back what others reserved when a plugin answers %j, and names it', (answer) => {
    const bad = { name: 'Bad', reserve: () => answer } as unknown as AnyPlugin;
    const log: string[] = [];
    const reserve = () => reserveAll(participants([reserving(log, 'A'), bad]), attempt, 'n1');
    expect(reserve).toThrow('plugin "Bad" failed in reserve: ');
    expect(log).toEqual(['reserve A', 'undo A']);
  });

  it('goes on undoing when one undo throws, and then tells', () => {
    const log: string[] = [];
    const failing = definePlugin({ name: 'Bad', reserve: () => () => fail('boom') });
    const reservation = reserveAll(participants([reserving(log, 'A'), failing]), attempt, 'n1');
    if (reservation.kind !== 'reserved') throw new Error('expected a reservation');
    expect(reservation.undo).toThrow('plugin "Bad" failed in undo of reserve');
    expect(log).toEqual(['reserve A', 'undo A']);
  });
});

describe('permit and bind', () => {
  const binder = definePlugin({ name: 'Binder', bind: async () => 'bound' as const });

  it('binds with the first plugin that does not pass', async () => {
    const passing = definePlugin({ name: 'Pass', bind: async () => 'pass' as const });
    const never = definePlugin({ name: 'Never', bind: vi.fn(async () => 'bound' as const) });
    expect(await bind([passing, binder, never])).toEqual({ kind: 'bound' });
    expect(never.bind).not.toHaveBeenCalled();
  });

  it('fails when every plugin passes', async () => {
    await expect(bind([definePlugin({ name: 'Pass', bind: async () => 'pass' as const })])).rejects.toThrow(
      'no plugin of the profile',
    );
  });

  it('binds nothing that is not permitted', async () => {
    const binding = definePlugin({ name: 'Binder', bind: vi.fn(async () => 'bound' as const) });
    const refusing = definePlugin({ name: 'No', permit: async () => full });
    expect(await bind([binding, refusing])).toEqual({ kind: 'refused', plugin: 'No', rejection: full });
    expect(binding.bind).not.toHaveBeenCalled();
  });

  it.each<[string, unknown]>([
    ['permit', true],
    ['permit', null],
    ['preBind', true],
    ['preBind', null],
    ['bind', undefined],
    ['bind', 'done'],
  ])('fails with the name of a plugin whose %s answers nonsense: %s', async (point, answer) => {
    const bad = { name: 'Bad', [point]: async () => answer } as unknown as AnyPlugin;
    await expect(bind([bad, binder])).rejects.toThrow(`plugin "Bad" failed in ${point}: `);
  });

  it('binds nothing that cannot be prepared, and says why', async () => {
    const binding = definePlugin({ name: 'Binder', bind: vi.fn(async () => 'bound' as const) });
    const refusing = definePlugin({ name: 'No', preBind: async () => full });
    expect(await bind([binding, refusing])).toEqual({ kind: 'refused', plugin: 'No', rejection: full });
    expect(binding.bind).not.toHaveBeenCalled();
  });

  it('prepares nothing for plugins that skipped the attempt', async () => {
    const preparing = definePlugin({ name: 'Prepares', preBind: vi.fn(async () => full) });
    const profile = { schedulerName: 's', plugins: [preparing, binder].map((plugin) => ({ plugin, weight: 0 })) };
    const { signal } = new AbortController();
    const outcome = await bindPlacement(placement, { profile, participants: participants([binder]), timeoutMs: 1_000, signal });
    expect(outcome).toEqual({ kind: 'bound' });
    expect(preparing.preBind).not.toHaveBeenCalled();
  });

  it.each(['permit', 'preBind', 'bind'] as const)('gives up on a plugin that hangs in %s, and ends its signal', async (point) => {
    vi.useFakeTimers();
    try {
      let seen: AbortSignal | undefined;
      const hanging = {
        name: 'Hang',
        [point]: (_: unknown, signal: AbortSignal) => {
          seen = signal;
          return new Promise(() => {});
        },
      } as unknown as AnyPlugin;
      const failed = expect(bind([hanging, binder], { timeoutMs: 500 })).rejects.toThrow(
        `plugin "Hang" failed in ${point}: no answer after 500 ms`,
      );
      await vi.advanceTimersByTimeAsync(500);
      await failed;
      expect(seen?.aborted).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it('ends at once when the scheduler stops', async () => {
    const stop = new AbortController();
    const hanging = definePlugin({ name: 'Hang', permit: () => new Promise(() => {}) });
    const failed = expect(bind([hanging], { signal: stop.signal })).rejects.toThrow('the scheduler stops');
    stop.abort();
    await failed;
  });

  it("keeps the plugin's own error as the cause", async () => {
    const losing = definePlugin({ name: 'Binder', bind: async () => fail(conflict({ kind: 'Pod', name: 'p' }, 'is bound')) });
    await expect(bind([losing])).rejects.toSatisfy(isConflict);
  });
});

function fail(error: string | Error): never {
  throw typeof error === 'string' ? new Error(error) : error;
}
