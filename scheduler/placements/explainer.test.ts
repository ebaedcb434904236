import { describe, expect, it } from 'vitest';
import type { Pod, PodDisruptionBudget } from '../../api/generated/types.ts';
import { node, type PodBuilder, pod } from '../../test/builders/index.ts';
import { createCache } from '../cache/cache.ts';
import { audienceOf, everyone } from '../framework/audience.ts';
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
  return {
    cache,
    why: (audience = everyone) => explainer.why({ namespace: 'default', name: asked.metadata?.name }, audience),
    simulate: async (pods: Pod[], audience = everyone) => {
      const { signal } = new AbortController();
      return (await explainer.simulate({ pods, nodeLimit: 5 }, { audience, signal })).pods ?? [];
    },
  };
}

describe('why', () => {
  it('names those who have to go, and whose disruption budget that breaks', () => {
    const { why } = setUp([low('a'), low('b').labels({ app: 'web' })]);
    expect(why().remedies?.[0]).toBe(
      'on n1: less important pods have to go, which the scheduler sees to: default/b (against its disruption budget), default/a',
    );
  });

  it("says nothing of nodes of other names than the pod's affinity has, as that of a pod of a DaemonSet", () => {
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n1'] }];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } };
    const asked = pod('tied').requests({ cpu: '8' }).build();
    const { cache, why } = setUp([], { ...asked, spec: { ...asked.spec, affinity: { nodeAffinity } } });
    cache.setNode(node('n2').capacity({ cpu: '16' }).build());
    expect(why().remedies).toEqual(['on n1: needs 8 CPU, the node has 4 in all (NodeResourcesFit)']);
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

  it('says nothing of room on a node that is gone, nor before a node is nominated', () => {
    const { cache, why } = setUp([low('a')]);
    expect(why().message).not.toContain('Room is being made');
    cache.nominate(podInfo(high.build()), 'gone');
    expect(why().message).not.toContain('Room is being made');
  });
});

describe('a reader that may list neither nodes nor pods of other namespaces', () => {
  const reader = audienceOf({ podNamespaces: ['default'] });
  const other = (each: PodBuilder) => {
    const { metadata, ...rest } = each.build();
    return { build: () => ({ metadata: { ...metadata, namespace: 'other' }, ...rest }) } as PodBuilder;
  };

  it('hears how many pods have to go, and names of its own only; no node is named', () => {
    const { why } = setUp([low('mine'), other(low('theirs'))]);
    const explained = why(reader);
    expect(explained.remedies).toEqual([
      'on 1 node: less important pods have to go, which the scheduler sees to: default/mine, a pod that is not shown',
      'on 1 node: insufficient cpu (NodeResourcesFit)',
    ]);
    expect(explained).toMatchObject({ nodes: [], bestNodes: [], nodeCount: 1, fitting: 0 });
    expect(JSON.stringify(explained)).not.toMatch(/n1|theirs/);
    expect(why(audienceOf(undefined)).remedies?.[0]).toContain('2 pods that are not shown');
  });

  it('hears of room that is being made, and who has to end for it only as a number', () => {
    const { cache, why } = setUp([other(low('theirs').deleting(0))]);
    cache.nominate(podInfo(high.build()), 'n1');
    expect(why(reader).message).toMatch(/made for it on a node: it is tried there when a pod that is not shown has ended\.$/);
  });

  it('hears how many nodes fit a simulated pod, and not which', async () => {
    const { simulate } = setUp([]);
    expect(await simulate([high.build()], reader)).toMatchObject([{ nodeName: '', fitting: 1, nodeCount: 1, bestNodes: [] }]);
    expect(await simulate([high.build()])).toMatchObject([{ nodeName: 'n1', bestNodes: ['n1'] }]);
  });

  it('hears nothing of pods that its own must not stand beside, when it may list nodes', () => {
    const apart = pod('apart').labels({ app: 'a' }).requests({ cpu: '100m' });
    const asked = apart.build();
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } }, namespaceSelector: {} };
    asked.spec!.affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const { why } = setUp([other(pod('theirs').labels({ app: 'db' }).on('n1'))], asked);
    const detail = (audience = everyone) => why(audience).nodes?.[0]?.obstacles?.[0]?.detail;
    expect(detail()).toContain('keeps it away from other/theirs, in kubernetes.io/hostname=n1');
    expect(detail(audienceOf({ nodes: true, podNamespaces: ['default'] }))).toContain('away from a pod that is not shown, in');
  });
});
