import { expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { createCache } from '../cache/cache.ts';
import { createNodeTable } from '../cache/node-table.ts';
import { definePlugin, proceed } from '../framework/plugin.ts';
import { type PodInfo, podInfo } from '../framework/pod-info.ts';
import { createRunner } from '../framework/runner.ts';
import { defaultPreemption } from '../plugins/default-preemption.ts';
import { defaultProfile } from '../profile.ts';

/**
 * Three full nodes of one pod each, and how often the filter was asked;
 * `shape` undefined for one that looks beyond the row.
 */
function setUp(shape: string | undefined) {
  const cache = createCache({ now: () => 0 });
  const table = createNodeTable();
  const low = (i: number, priority = i) => pod(`low-${i}`).on(`n${i}`).priority(priority).requests({ cpu: '4' }).build();
  for (const i of [1, 2, 3]) {
    cache.setNode(node(`n${i}`).build());
    cache.setPod(low(i));
  }
  let asked = 0;
  const counting = definePlugin<undefined>({
    name: 'Counting',
    prepare: () => proceed(undefined, { shape }),
    filter: () => {
      asked += 1;
      return undefined;
    },
  });
  const usual = defaultProfile({ name: 'Bind' }).plugins.map(({ plugin }) => plugin);
  const fit = usual.filter(({ name }) => name === 'NodeResourcesFit');
  const plugins = [counting, ...fit, defaultPreemption()].map((plugin) => ({ plugin, weight: 0 }));
  const runner = createRunner({ profile: { schedulerName: 's', plugins }, random: () => 0 });
  const victimOf = (info: PodInfo) => {
    asked = 0;
    cache.sync(table, info);
    const decision = runner.decide({ pod: info, nodes: table, now: 0 });
    const victims = decision.kind === 'unschedulable' ? decision.room?.victims : [];
    return [victims?.map(({ pod: { metadata } }) => metadata?.name).join(), asked];
  };
  return { cache, low, victimOf };
}

const high = (name: string, priority = 100) => podInfo(pod(name).priority(priority).requests({ cpu: '1' }).build());

it('asks for the next pod of a shape only about nodes that have changed, and finds what it would find anew', () => {
  const { cache, low, victimOf } = setUp('same');
  const [first, askedFirst] = victimOf(high('a'));
  const [second, askedSecond] = victimOf(high('b'));
  expect([first, second]).toEqual(['low-1', 'low-1']);
  expect(askedSecond).toBeLessThan(askedFirst as number);
  cache.removePod(low(1));
  cache.setPod(pod('other').on('n1').priority(50).requests({ cpu: '4' }).build());
  expect(victimOf(high('c'))[0]).toBe('low-2');
  // Less important: the same nodes look different to it.
  expect(victimOf(high('d', 3))[0]).toBe('low-2');
  expect(victimOf(high('e', 1))[0]).toBeUndefined();
});

it('asks about every node again when a filter looks beyond the row', () => {
  const { victimOf } = setUp(undefined);
  const [, askedFirst] = victimOf(high('a'));
  expect(victimOf(high('b'))).toEqual(['low-1', askedFirst]);
});
