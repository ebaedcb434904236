import { describe, expect, it } from 'vitest';
import type { Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { node, type PodBuilder, pod } from '../../test/builders/index.ts';
import { createCache } from '../cache/cache.ts';
import { podInfo } from '../framework/pod-info.ts';
import { defaultProfile } from '../profile.ts';
import { createExplainer } from './explainer.ts';

const budget: PodDisruptionBudget = {
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } } },
  status: { disruptionsAllowed: 0 },
};
const low = (name: string) => pod(name).requests({ cpu: '2' }).on('n1');
const high = pod('high').requests({ cpu: '4' }).priority(10);

function setUp(bound: readonly PodBuilder[], asked: Pod = high.build()) {
  const cache = createCache({ now: () => 0 });
  cache.setNode(node('n1').capacity({ cpu: '4' }).build());
  for (const each of bound) cache.setPod(each.build());
  const preemption = { budgets: { list: () => [budget] }, isLeaving: () => false };
  const profile = defaultProfile({ name: 'Bind' }, undefined, { preemption });
  const placements = { of: () => undefined, last: () => [] };
  const explainer = createExplainer({
    profile,
    cache,
    placements,
    find: () => asked,
    waitingSince: () => undefined,
    now: () => 0,
  });
  return { cache, why: () => explainer.why({ namespace: 'default', name: asked.metadata?.name }) };
}

describe('why', () => {
  it('names those who have to go, and whose disruption budget that breaks', () => {
    const { why } = setUp([low('a'), low('b').labels({ app: 'web' })]);
    expect(why().remedies?.[0]).toBe(
      'on n1: less important pods have to go, which the scheduler sees to: default/b (against its disruption budget), default/a',
    );
  });

  it.each([
    ['those that end', [low('a').deleting(0), low('b').deleting(0)], 'default/a, default/b have ended'],
    ['the one that ends', [low('a').deleting(0), low('b').priority(20).deleting(0)], 'default/a has ended'],
    ['them without names while the API does not show that they end', [low('a')], 'those whose place it takes have ended'],
  ])('says where room is being made for the pod, and names %s', (_, bound, words) => {
    const { cache, why } = setUp(bound);
    cache.nominate(podInfo(high.build()), 'n1');
    expect(why().message).toMatch(
      new RegExp(`insufficient cpu\\. Room is being made for it on node n1: it is tried there when ${words}\\.$`),
    );
  });

  it('says nothing of room on a node that is gone, nor of room that nobody makes', () => {
    const { cache, why } = setUp([low('a')]);
    expect(why().message).not.toContain('Room is being made');
    cache.nominate(podInfo(high.build()), 'gone');
    expect(why().message).not.toContain('Room is being made');
  });
});
