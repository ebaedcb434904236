import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { nodeTable } from '../../test/builders/node-table.ts';
import type { AnyPlugin, Attempt } from './plugin.ts';
import { definePlugin, proceed, skip, unresolvable, unschedulable } from './plugin.ts';
import { PluginFault } from './plugin-fault.ts';
import { podInfo } from './pod-info.ts';
import { createRunner } from './runner.ts';

const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
const attemptOver = (nodes: readonly string[]): Attempt => ({
  pod: podInfo(pod('p').build()),
  nodes: nodeTable(nodes.map((name) => node(name).build())),
  now: 0,
});

interface DecideOptions {
  readonly nodes?: readonly string[];
  readonly random?: () => number;
  readonly weights?: readonly number[];
}

/** Weighs everything 1 unless told otherwise. */
function decide(plugins: readonly AnyPlugin[], options: DecideOptions = {}) {
  const { nodes = names, random = () => 0, weights = [] } = options;
  const entries = plugins.map((plugin, index) => ({ plugin, weight: weights[index] ?? 1 }));
  return createRunner({ profile: { schedulerName: 's', plugins: entries }, random }).decide(attemptOver(nodes));
}

const full = unschedulable('insufficient memory', ['pod/removed']);
const fullTwice = { ...unschedulable('insufficient cpu', ['pod/removed']), also: [full.reason] };
const tainted = unresolvable('node(s) had untolerated taint {k: v}', ['node/taints']);
const rejecting = (name: string, rejected: readonly string[], rejection = full) =>
  definePlugin({ name, filter: (_, nodes, row) => (rejected.includes(nodes.names[row]!) ? rejection : undefined) });
const scoring = (name: string, scoreOf: (node: string) => number, normalise?: (scores: Float64Array) => void) =>
  definePlugin({
    name,
    score: (_, nodes, rows, scores) => scores.set(Array.from(rows, (row) => scoreOf(nodes.names[row]!))),
    ...(normalise ? { normalise } : {}),
  });

function messageOf(decision: ReturnType<typeof decide>): string {
  return decision.kind === 'unschedulable' ? decision.diagnosis.message : decision.nodeName;
}

describe('runner', () => {
  it('counts the first rejection of each node and words them, most frequent first', () => {
    const decision = decide([rejecting('Taint', ['n4', 'n5'], tainted), rejecting('Fit', ['n1', 'n2', 'n3', 'n4'])]);
    expect(messageOf(decision)).toBe('0/5 nodes are available: 3 insufficient memory, 2 node(s) had untolerated taint {k: v}.');
  });

  it('counts every reason that one rejection of a node names', () => {
    const decision = decide([rejecting('Fit', ['n4', 'n5'], fullTwice), rejecting('Memory', names)]);
    expect(messageOf(decision)).toBe('0/5 nodes are available: 5 insufficient memory, 2 insufficient cpu.');
  });

  it('tells for every node which plugin rejected it and why, and what the pod waits for', () => {
    const decision = decide([rejecting('Taint', ['n1'], tainted), rejecting('Fit', names)], { nodes: ['n1', 'n2'] });
    if (decision.kind !== 'unschedulable') throw new Error('expected no node');
    const { diagnosis } = decision;
    expect([diagnosis.pluginOf(0), diagnosis.pluginOf(1)]).toEqual(['Taint', 'Fit']);
    expect(diagnosis.rejectionOf(0)).toBe(tainted);
    expect(diagnosis.verdicts).toEqual([
      { plugin: 'Taint', rejection: tainted },
      { plugin: 'Fit', rejection: full },
    ]);
  });

  it('says so when there are no nodes, and waits for one', () => {
    const decision = decide([], { nodes: [] });
    expect(messageOf(decision)).toMatch(/^no nodes are available/);
    expect(decision.kind === 'unschedulable' && decision.diagnosis.verdicts[0]?.rejection.wakeOn).toEqual(['node/added']);
  });

  it('rejects the whole pod when prepare does', () => {
    const decision = decide([definePlugin({ name: 'P', prepare: () => unresolvable('volume "v" is gone', []) })]);
    expect(messageOf(decision)).toBe('0/5 nodes are available: volume "v" is gone.');
  });

  it('takes the node with the highest weighted sum', () => {
    const one = scoring('One', (name) => (name === 'n2' ? 100 : 0));
    const two = scoring('Two', (name) => (name === 'n3' ? 60 : 0));
    expect(messageOf(decide([one, two]))).toBe('n2');
    expect(messageOf(decide([one, two], { weights: [1, 2] }))).toBe('n3');
  });

  it('does not call the score of a plugin with weight 0, nor any for a single node', () => {
    const failing = scoring('Never', () => {
      throw new Error('called');
    });
    expect(messageOf(decide([failing], { weights: [0] }))).toBe('n1');
    expect(messageOf(decide([failing, rejecting('Fit', names.slice(1))]))).toBe('n1');
  });

  it.each([
    [0, 'n2'],
    [0.5, 'n4'],
    [0.99, 'n5'],
  ])('breaks ties by the random number %d', (number, expected) => {
    const tie = scoring('Tie', (name) => (['n2', 'n4', 'n5'].includes(name) ? 50 : 10));
    expect(messageOf(decide([tie], { random: () => number }))).toBe(expected);
  });

  it('normalises before it weighs', () => {
    const raw = scoring(
      'Raw',
      (name) => (name === 'n5' ? 5_000 : 0),
      (scores) => scores.set(scores.map((score) => score / 50)),
    );
    expect(messageOf(decide([raw, scoring('Other', (name) => (name === 'n1' ? 99 : 0))]))).toBe('n5');
  });

  it('hands a plugin the state that it prepared, and skips one that has nothing to say', () => {
    const chooser = definePlugin<string>({
      name: 'Chooser',
      prepare: () => proceed('n4'),
      filter: (wanted, nodes, row) => (nodes.names[row] === wanted ? undefined : full),
    });
    const quiet = definePlugin({ name: 'Quiet', prepare: () => skip, filter: () => full });
    expect(messageOf(decide([quiet, chooser]))).toBe('n4');
  });

  it('lets a plugin judge all nodes at once, and asks it node by node only for the explanation', () => {
    const many = definePlugin({
      ...rejecting('Many', ['n2', 'n3', 'n4', 'n5']),
      filterRows: (_, nodes, rows) => {
        const passing = rows.filter((row) => nodes.names[row] === 'n1');
        rows.set(passing);
        return passing.length;
      },
    });
    expect(messageOf(decide([many]))).toBe('n1');
    expect(messageOf(decide([many, rejecting('Taint', ['n1'], tainted)]))).toBe(
      '0/5 nodes are available: 4 insufficient memory, 1 node(s) had untolerated taint {k: v}.',
    );
  });

  it.each([6, -1, 1.5, Number.NaN])('fails the attempt with the name of a plugin that says %s of 5 nodes passed', (left) => {
    const bad = definePlugin({ name: 'Bad', filter: () => undefined, filterRows: () => left });
    expect(() => decide([bad])).toThrow(`plugin "Bad" failed in filter: ${left} of 5 nodes passed`);
  });

  it.each([
    ['NaN', Number.NaN],
    ['above 100', 100.5],
    ['below 0', -1],
    ['infinite', Number.POSITIVE_INFINITY],
  ])('fails the attempt with the name of a plugin whose score is %s', (_, score) => {
    expect(() => decide([scoring('Bad', () => score)])).toThrow(/plugin "Bad" failed in score: node "n1" got/);
  });

  it('fails the attempt with the name of a plugin that leaves a score out', () => {
    expect(() => decide([definePlugin({ name: 'Lazy', score: () => {} })])).toThrow(/plugin "Lazy" failed in score/);
  });

  it.each<[string, AnyPlugin]>([
    ['prepare', definePlugin({ name: 'Bad', prepare: () => boom() })],
    ['filter', definePlugin({ name: 'Bad', filter: () => boom() })],
    ['score', scoring('Bad', () => boom())],
    [
      'normalise',
      scoring(
        'Bad',
        () => 1,
        () => boom(),
      ),
    ],
  ])('fails the attempt with the name of a plugin that throws in %s', (point, plugin) => {
    expect(() => decide([plugin])).toThrow(PluginFault);
    expect(() => decide([plugin])).toThrow(`plugin "Bad" failed in ${point}: boom`);
  });

  it.each<[string, unknown]>([
    ['prepare', 'yes'],
    ['prepare', Promise.resolve()],
    ['filter', true],
    ['filter', null],
    ['filter', Promise.resolve()],
    ['filter', { kind: 'reject', reason: 7 }],
    ['postFilter', { nominatedNodeName: 'nowhere', victims: [] }],
    ['postFilter', { nominatedNodeName: 'n1' }],
  ])('fails the attempt with the name of a plugin whose %s answers nonsense: %j', (point, answer) => {
    const bad = { name: 'Bad', [point]: () => answer } as unknown as AnyPlugin;
    const others = point === 'postFilter' ? [rejecting('Fit', names)] : [];
    expect(() => decide([bad, ...others])).toThrow(PluginFault);
    expect(() => decide([bad, ...others])).toThrow(`plugin "Bad" failed in ${point}: `);
  });

  it('puts a pod on the node that it is nominated to, if it fits there, and else looks at all', () => {
    const best = scoring('Best', (name) => (name === 'n5' ? 100 : 0));
    const nominated = (plugins: readonly AnyPlugin[], nominatedNodeName: string) => {
      const profile = { schedulerName: 's', plugins: plugins.map((plugin) => ({ plugin, weight: 1 })) };
      return messageOf(createRunner({ profile, random: () => 0 }).decide({ ...attemptOver(names), nominatedNodeName }));
    };
    expect(nominated([best], 'n2')).toBe('n2');
    expect(nominated([best, rejecting('Fit', ['n2'])], 'n2')).toBe('n5');
    expect(nominated([best], 'gone')).toBe('n5');
  });

  it('asks no post-filter when prepare turns the pod away: there is nothing to try', () => {
    const preempting = definePlugin({ name: 'Preempt', postFilter: () => ({ nominatedNodeName: 'n2', victims: [] }) });
    const decision = decide([definePlugin({ name: 'P', prepare: () => full }), preempting]);
    expect(decision.kind === 'unschedulable' && decision.room).toBeUndefined();
  });

  it('asks post-filters in order until one makes room', () => {
    const silent = definePlugin({ name: 'Silent', postFilter: () => undefined });
    const preempting = definePlugin({ name: 'Preempt', postFilter: () => ({ nominatedNodeName: 'n2', victims: [] }) });
    const decision = decide([rejecting('Fit', names), silent, preempting]);
    expect(decision.kind === 'unschedulable' && decision.room?.nominatedNodeName).toBe('n2');
  });
});

function boom(): never {
  throw new Error('boom');
}
