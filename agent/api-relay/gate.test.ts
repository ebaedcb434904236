import { describe, expect, it } from 'vitest';
import { Gate, type GateLimits } from './gate.ts';
import { defaultRelayLimits } from './relay.ts';

interface Connection {
  readonly source: string;
  isCut: boolean;
  reset(): void;
}

function open(limits: Partial<GateLimits> = {}) {
  const clock = { now: 0 };
  const cut: string[] = [];
  const gate = new Gate<Connection>({
    ...{ isAllowed: () => true, limits: { ...defaultRelayLimits, ...limits }, now: () => clock.now },
    onCut: (source) => cut.push(source),
  });
  const made: Connection[] = [];
  /** "in", or why not. */
  const enter = (source: string): string => {
    const refusal = gate.enter(source);
    if (refusal !== undefined) return refusal;
    const connection: Connection = {
      ...{ source, isCut: false },
      reset: () => {
        connection.isCut = true;
      },
    };
    made.push(connection);
    gate.add(source, connection);
    return 'in';
  };
  const leaveAll = (): void => {
    for (const each of made.splice(0)) gate.leave(each.source, each);
  };
  const of = (source: string): Connection[] => made.filter((each) => each.source === source && !each.isCut);
  return { gate, clock, cut, made, enter, leaveAll, of };
}

const times = <T>(count: number, act: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => act(i));

describe('the gate of the relay', () => {
  it('lets each of many sources in, though a few have taken all places', () => {
    const { clock, enter, of, made } = open();
    const greedy = times(8, (i) => `greedy${i}`);
    for (let second = 0; second < 20; second++) {
      clock.now = second * 1_000;
      for (const source of greedy) times(64, () => enter(source));
    }
    expect(greedy.reduce((sum, source) => sum + of(source).length, 0)).toBe(defaultRelayLimits.maxConnections);
    for (let i = 0; i < 100; i++) {
      clock.now += 1_000;
      for (const source of greedy) times(64, () => enter(source));
      expect(enter(`pod${i}`)).toBe('in');
    }
    expect(times(100, (i) => of(`pod${i}`).length)).toEqual(times(100, () => 1));
    expect(made.filter(({ isCut }) => !isCut)).toHaveLength(defaultRelayLimits.maxConnections);
  });

  it('cuts the newest connection of the source with the most, until the sources have alike', () => {
    const { enter, made, cut, of } = open({ maxConnections: 6 });
    times(2, () => enter('some'));
    times(4, () => enter('most'));
    expect(enter('new')).toBe('in');
    expect(made.map(({ isCut }) => isCut)).toEqual([false, false, false, false, false, true, false]);
    expect([enter('new'), enter('new')]).toEqual(['in', 'limit']);
    expect(made[4]?.isCut).toBe(true);
    expect([cut, of('some').length, of('most').length, of('new').length]).toEqual([['most', 'most'], 2, 2, 2]);
  });

  it('takes nothing from a source that has only one more', () => {
    const { enter, cut } = open({ maxConnections: 2 });
    expect([enter('a'), enter('b'), enter('c'), enter('a')]).toEqual(['in', 'in', 'limit', 'limit']);
    expect(cut).toEqual([]);
  });

  it('has a place again once for each connection that closes, also when it was cut before', () => {
    const { gate, enter, made } = open({ maxConnections: 2 });
    times(2, () => enter('a'));
    expect(enter('b')).toBe('in');
    gate.leave('a', made[1]!);
    expect(enter('c')).toBe('limit');
    gate.leave('a', made[0]!);
    expect([enter('c'), enter('d')]).toEqual(['in', 'limit']);
  });

  it('does not count against others what a source is refused for its own bound or that of all', () => {
    const { enter } = open({ maxConnections: 3, maxConnectionsPerSource: 2, perSecond: 1, burst: 4, reservedBurst: 0 });
    expect(times(6, () => enter('a')).slice(1, 3)).toEqual(['in', 'source-limit']);
    expect(times(6, () => enter('b')).slice(0, 2)).toEqual(['in', 'limit']);
    expect(enter('c')).toBe('in');
  });

  it('keeps part of the rate for sources without a connection', () => {
    const { enter } = open({ perSecond: 1, burst: 3, reservedPerSecond: 1, reservedBurst: 2 });
    expect(times(4, () => enter('greedy'))).toEqual(['in', 'in', 'in', 'rate']);
    expect([enter('a'), enter('a'), enter('b'), enter('c')]).toEqual(['in', 'rate', 'in', 'rate']);
  });

  it('gives sources that close their connections at once little of what is reserved', () => {
    const { clock, enter, leaveAll } = open();
    const greedy = times(8, (i) => `greedy${i}`);
    for (let second = 0; second < 60; second++) {
      clock.now = second * 1_000;
      for (const source of greedy)
        times(20, () => {
          enter(source);
          leaveAll();
        });
      expect(enter(`pod${second}`)).toBe('in');
      leaveAll();
    }
  });
});
