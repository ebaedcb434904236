import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { nodeTable } from '../../test/builders/node-table.ts';
import { callLimitMs, withinLimit } from './call-limit.ts';
import { checkedPlugin } from './checked-plugin.ts';
import { judgeAll } from './judgement.ts';
import { bindPlacement, reserveAll } from './placement-phase.ts';
import { type AnyPlugin, type Attempt, unschedulable } from './plugin.ts';
import { PluginFault } from './plugin-fault.ts';
import { podInfo } from './pod-info.ts';
import { createRunner } from './runner.ts';

/** What a plugin in JavaScript may come with. */
const strange = (methods: object, limitMs = callLimitMs): AnyPlugin => ({
  ...checkedPlugin({ name: 'Strange', ...methods } as AnyPlugin),
  callLimitMs: limitMs,
});

function setUp() {
  const old = pod('old').on('n1').build();
  const nodes = nodeTable([node('n1').build(), node('n2').build()], [old]);
  const attempt: Attempt = { pod: podInfo(pod('p').build()), nodes, now: 0 };
  const profileOf = (...plugins: AnyPlugin[]) => ({
    schedulerName: 's',
    plugins: plugins.map((plugin) => ({ plugin, weight: plugin.score ? 1 : 0 })),
  });
  const decide = (...plugins: AnyPlugin[]) => createRunner({ profile: profileOf(...plugins), random: () => 0 }).decide(attempt);
  return { attempt, nodes, profileOf, decide, old: podInfo(old) };
}

const full = unschedulable('full', ['node/added']);
const turnAway = { filter: () => full };
const forever = () => {
  for (;;);
};

describe("a user's plugin", () => {
  it('does what it says while it keeps to the contract, also as an object of a class', () => {
    class Picky {
      readonly name = 'Picky';
      readonly #liked = 'n2';
      prepare() {
        return { kind: 'proceed', state: this.#liked, filter: true, score: true };
      }
      filter(liked: string, nodes: Attempt['nodes'], row: number) {
        return nodes.names[row] === liked ? undefined : full;
      }
      score(_: string, __: unknown, rows: Int32Array, scores: Float64Array) {
        rows.fill(0);
        scores.fill(50);
      }
    }
    const { decide } = setUp();
    expect(decide(checkedPlugin(new Picky() as unknown as AnyPlugin))).toMatchObject({
      kind: 'placed',
      nodeName: 'n2',
      feasible: 1,
    });
  });

  it.each<[string, object, string]>([
    ['prepare', { prepare: () => undefined, filter: () => undefined }, 'answered nothing, which is neither proceed, skip nor'],
    ['prepare', { prepare: () => ({ kind: 'go' }) }, 'answered an object, which is neither'],
    ['prepare', { prepare: () => ({ kind: 'proceed', state: 1 }) }, 'filter and score are not true or false'],
    ['prepare', { prepare: () => ({ kind: 'proceed', filter: true, score: true, shape: 5 }) }, 'the shape number 5'],
    ['prepare', { prepare: () => ({ kind: 'reject' }) }, 'rejected with the reason nothing'],
    ['filter', { filter: () => true }, 'answered boolean true, which is no rejection'],
    ['filter', { filter: () => null }, 'answered null, which is no rejection'],
    ['filter', { filter: async () => undefined }, 'answered an object, which is no rejection'],
    ['filter', { filter: () => ({ ...full, reason: '' }) }, 'rejected with the reason string ""'],
    ['filter', { filter: () => ({ ...full, code: 'no' }) }, 'rejected with the code string "no"'],
    ['filter', { filter: () => ({ ...full, wakeOn: undefined }) }, 'rejected with wakeOn nothing'],
    ['filter', { filter: () => ({ ...full, wakeOn: ['rain'] }) }, 'rejected with wakeOn string "rain"; there are node/added,'],
    ['filter', { filter: () => undefined, filterRows: () => undefined }, 'filterRows answered nothing'],
    [
      'filter',
      { filter: () => undefined, filterRows: (_: unknown, __: unknown, rows: Int32Array) => rows.fill(7).length },
      'filterRows answered number 2',
    ],
    ['score', { score: () => {} }, 'got NaN, which is not from 0 to 100'],
    ['score', { score: (_: unknown, __: unknown, ___: unknown, scores: Float64Array) => scores.fill(101) }, 'got 101'],
    [
      'postFilter',
      { ...turnAway, postFilter: () => ({ nominatedNodeName: 'n9', victims: [] }) },
      'nominated string "n9", which is no node',
    ],
    [
      'postFilter',
      { ...turnAway, postFilter: () => ({ nominatedNodeName: 'n2' }) },
      'named victims that are no pods of node "n2"',
    ],
    ['postFilter', { ...turnAway, postFilter: () => true }, 'nominated nothing, which is no node'],
  ])('fails the attempt in %s with its name and what it said: %o', (point, methods, why) => {
    const { decide } = setUp();
    const message = new RegExp(`^plugin "Strange" failed in ${point}: .*${why.replaceAll(/[[\](){}.*+?^$|\\]/g, '\\$&')}`);
    expect(() => decide(strange(methods))).toThrow(message);
    expect(() => decide(strange(methods))).toThrow(PluginFault);
  });

  it('names no pod of another node for a victim', () => {
    const { decide, old } = setUp();
    const making = (nominatedNodeName: string) =>
      strange({ ...turnAway, postFilter: () => ({ nominatedNodeName, victims: [old] }) });
    expect(decide(making('n1'))).toMatchObject({ room: { nominatedNodeName: 'n1' } });
    expect(() => decide(making('n2'))).toThrow('named victims that are no pods of node "n2"');
    const nobody = strange({ ...turnAway, postFilter: () => ({ nominatedNodeName: 'n1', victims: [null] }) });
    expect(() => decide(nobody)).toThrow('named victims that are no pods of node "n1"');
  });

  it.each(['prepare', 'filter', 'score', 'normalise', 'postFilter'])(
    'that never comes back from %s fails the attempt',
    (point) => {
      const { decide } = setUp();
      const usual = { ...(point === 'postFilter' ? turnAway : {}), ...(point === 'normalise' ? { score() {} } : {}) };
      // On a busy machine its other functions take some of the time, too.
      expect(() => decide(strange({ ...usual, [point]: forever }, 500))).toThrow(
        `plugin "Strange" failed in ${point}: no answer after 500 ms`,
      );
    },
  );

  it('leaves the nodes as they were when it ends in the middle of a trial', () => {
    const { decide, nodes, old } = setUp();
    const before = structuredClone([...nodes.columns.podCount]);
    const trying = strange({
      ...turnAway,
      postFilter(_: Attempt, __: unknown, trial: { begin(row: number): void; take(pod: unknown): void }) {
        trial.begin(0);
        trial.take(old);
        throw new Error('lost');
      },
    });
    expect(() => decide(trying)).toThrow('plugin "Strange" failed in postFilter: lost');
    expect([...nodes.columns.podCount]).toEqual(before);
  });

  it('explains in words or not at all', () => {
    const { attempt, profileOf } = setUp();
    const explaining = (answer: unknown) => judgeAll(profileOf(strange({ ...turnAway, explain: () => answer })), attempt);
    expect(explaining('holds 2 of 2').opinions[0]?.obstacles[0]?.detail).toBe('holds 2 of 2');
    expect(() => explaining(undefined)).toThrow('plugin "Strange" failed in explain: answered nothing, which is no text');
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'answered nothing, which is neither its undo nor a rejection'],
    ['a promise', Promise.resolve(), 'answered an object, which is neither its undo nor a rejection'],
  ])('that reserves and answers with %s fails the attempt', (_, answer, why) => {
    const { attempt } = setUp();
    const participant = {
      plugin: strange({ reserve: () => answer }),
      weight: 0,
      state: undefined,
      filters: false,
      scores: false,
    };
    expect(() => reserveAll([participant], attempt, 'n1')).toThrow(`plugin "Strange" failed in reserve: ${why}`);
  });

  it.each<['permit' | 'preBind' | 'bind', unknown, string]>([
    ['permit', async () => true, 'answered boolean true, which is no rejection'],
    ['permit', () => Promise.reject(new Error('lost')), 'lost'],
    ['permit', forever, 'no answer after 30 ms'],
    ['preBind', async () => Promise.reject('why not'), 'why not'],
    ['preBind', async () => true, 'answered boolean true, which is no rejection'],
    ['bind', async () => undefined, 'answered nothing, neither "bound" nor "pass"'],
    ['bind', () => new Promise(() => {}), 'no answer after 200 ms'],
  ])('fails the binding in %s: %s', async (point, method, why) => {
    const { profileOf, attempt } = setUp();
    const profile = profileOf(strange({ [point]: method }, method === forever ? 30 : callLimitMs), {
      name: 'Binder',
      bind: async () => 'bound',
    });
    const { signal } = new AbortController();
    const bound = bindPlacement(
      { pod: attempt.pod, nodeName: 'n1' },
      { profile, participants: profile.plugins, timeoutMs: why.includes('200 ms') ? 200 : 30_000, signal },
    );
    await expect(bound).rejects.toThrow(`plugin "Strange" failed in ${point}: ${why}`);
  });
});

describe('a limited call', () => {
  it('answers and throws as its plugin does, also within another', () => {
    const outer = withinLimit(() => {
      expect(() => withinLimit(forever, 20)).toThrow('no answer after 20 ms');
      return withinLimit(() => 'inner', 1_000);
    }, 5_000);
    expect(outer).toBe('inner');
    const error = new TypeError('own');
    expect(() =>
      withinLimit(
        () =>
          void (() => {
            throw error;
          })(),
        1_000,
      ),
    ).toThrow(error);
  });
});
