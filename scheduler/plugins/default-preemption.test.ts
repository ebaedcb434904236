import { expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { createCache } from '../cache/cache.ts';
import { createNodeTable } from '../cache/node-table.ts';
import { podInfo } from '../framework/pod-info.ts';
import { createRunner } from '../framework/runner.ts';
import { defaultProfile } from '../profile.ts';
import { defaultPreemption, type PreemptionSource } from './default-preemption.ts';

/**
 * On nodes of 4 CPU: what is done so that a pod of priority 10 that asks for 3 CPU gets its place, as "node: victims".
 */
function makeRoom(bound: readonly Pod[], change: (asking: Pod) => void = () => {}, source?: Partial<PreemptionSource>): string {
  const cache = createCache({ now: () => 0 });
  const table = createNodeTable();
  for (const name of ['n1', 'n2']) cache.setNode(node(name).build());
  for (const each of bound) cache.setPod(each);
  const info = podInfo(pod('asking').priority(10).requests({ cpu: '3' }).with(change).build());
  const preemption = defaultPreemption({ budgets: { list: () => [] }, isLeaving: () => false, ...source });
  const usual = defaultProfile({ name: 'Bind' }).plugins.filter(({ plugin }) => plugin.name !== preemption.name);
  const profile = { schedulerName: 's', plugins: [...usual, { plugin: preemption, weight: 0 }] };
  cache.sync(table, info);
  const decision = createRunner({ profile, random: () => 0 }).decide({
    pod: info,
    nodes: table,
    now: 0,
    nominatedNodeName: info.pod.status?.nominatedNodeName,
  });
  if (decision.kind !== 'unschedulable') return decision.kind;
  const { room } = decision;
  const names = room?.victims.map((victim) => victim.pod.metadata?.name).sort();
  return room === undefined ? 'nothing' : `${room.nominatedNodeName}: ${names?.join(' ')}`;
}

const on = (nodeName: string, name: string, priority: number, cpu: string) =>
  pod(name).on(nodeName).priority(priority).requests({ cpu });

it.each<[string, string, Pod[]]>([
  ['nothing when all are as important', 'nothing', [on('n1', 'a', 10, '2').build(), on('n2', 'b', 10, '2').build()]],
  ['the less important of two', 'n2: b', [on('n1', 'a', 5, '2').build(), on('n2', 'b', 1, '2').build()]],
  [
    'no more than it takes',
    'n1: b',
    [on('n1', 'a', 1, '1').build(), on('n1', 'b', 1, '3').build(), on('n2', 'c', 10, '2').build()],
  ],
  [
    'where it takes fewer',
    'n2: d',
    [on('n1', 'a', 1, '1').build(), on('n1', 'b', 1, '2').build(), on('n1', 'c', 1, '1').build(), on('n2', 'd', 1, '4').build()],
  ],
])('takes %s', (_, expected, bound) => {
  expect(makeRoom(bound)).toBe(expected);
});

it('takes nothing for a pod that never preempts, nor for one that would not fit an empty node', () => {
  const bound = [on('n1', 'a', 1, '2').build(), on('n2', 'b', 1, '2').build()];
  const never = (asking: Pod) => Object.assign(asking.spec!, { preemptionPolicy: 'Never' });
  const huge = (asking: Pod) =>
    Object.assign(asking.spec!.containers![0]!, { resources: { requests: { cpu: { string: '5' } } } });
  expect(makeRoom(bound)).toMatch(/^n/);
  expect([makeRoom(bound, never), makeRoom(bound, huge)]).toEqual(['nothing', 'nothing']);
});

it('takes no more while others are on their way out for it', () => {
  const bound = [on('n1', 'a', 1, '2').uid('leaving').build(), on('n2', 'b', 1, '2').build()];
  const nominated = (asking: Pod) => Object.assign(asking, { status: { nominatedNodeName: 'n1' } });
  expect(makeRoom(bound, nominated, { isLeaving: (uid) => uid === 'leaving' })).toBe('n1: ');
});
