import { describe, expect, it } from 'vitest';
import { node, type PodBuilder, pod } from '../../test/builders/index.ts';
import { createCache } from '../cache/cache.ts';
import { createNodeTable } from '../cache/node-table.ts';
import { defaultProfile } from '../profile.ts';
import { judgeAll } from './judgement.ts';
import { podInfo } from './pod-info.ts';
import { createRunner } from './runner.ts';

const term = (value: string) => ({ topologyKey: 'zone', labelSelector: { matchLabels: { app: value } } });
const web = (name: string) => pod(name).labels({ app: 'web' });
const avoiding = (name: string, value: string) =>
  pod(name).spec({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(value)] } } });
const wanting = (name: string, value: string) =>
  pod(name).spec({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(value)] } } });
const spreading = (name: string) =>
  web(name).spec({ topologySpreadConstraints: [{ ...term('web'), maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }] });

/** Nodes n1 and n2 in zone a, with a pod of priority 0 on n1; `nominee` is nominated to n1. */
function setUp(nominee: PodBuilder, { only = false } = {}) {
  const cache = createCache({ now: () => 0 });
  for (const name of only ? ['n1'] : ['n1', 'n2']) cache.setNode(node(name).labels({ zone: 'a' }).capacity({ cpu: '2' }).build());
  cache.setPod(pod('small').requests({ cpu: '1' }).on('n1').build());
  const waiting = podInfo(nominee.build());
  cache.nominate(waiting, 'n1');
  const table = createNodeTable();
  const profile = defaultProfile({ name: 'Bind' });
  const runner = createRunner({ profile, random: () => 0 });
  const attemptOf = (wanted: PodBuilder, nominatedNodeName?: string) => {
    const info = podInfo(wanted.build());
    cache.sync(table, info);
    return { pod: info, nodes: table, now: 0, nominatedNodeName };
  };
  return {
    cache,
    decide: (wanted: PodBuilder, nominatedNodeName?: string) => runner.decide(attemptOf(wanted, nominatedNodeName)),
    fitting: (wanted: PodBuilder) => {
      const { opinions } = judgeAll(profile, attemptOf(wanted));
      return opinions.filter(({ obstacles }) => obstacles.length === 0).map(({ nodeName }) => nodeName);
    },
    details: (wanted: PodBuilder) => judgeAll(profile, attemptOf(wanted)).opinions.flatMap(({ obstacles }) => obstacles),
  };
}

const anti = "node(s) didn't match pod anti-affinity rules";
const existing = "node(s) didn't satisfy existing pods anti-affinity rules";
const uneven = "node(s) didn't match pod topology spread constraints";

describe('a node on which room is being made for another pod', () => {
  it.each([
    ['avoids that pod', web('nominee'), avoiding('p', 'web'), anti],
    ['is avoided by that pod', avoiding('nominee', 'web'), web('p'), existing],
  ])('is no place for a pod that %s; others of its zone are', (_, nominee, wanted, reason) => {
    const { decide, fitting, details } = setUp(nominee);
    expect(fitting(wanted)).toEqual(['n2']);
    expect(decide(wanted)).toMatchObject({ kind: 'placed', nodeName: 'n2', feasible: 1 });
    expect(details(wanted)).toMatchObject([
      { plugin: 'InterPodAffinity', detail: `${reason}, once default/nominee is there, for which room is being made` },
    ]);
  });

  it('counts that pod when pods are spread', () => {
    const { cache, decide, details } = setUp(web('nominee'));
    cache.setNode(node('n3').labels({ zone: 'b' }).build());
    cache.setPod(web('there').on('n2').build());
    cache.setPod(web('there too').on('n3').build());
    expect(details(spreading('p')).map(({ rejection }) => rejection.reason)).toEqual([uneven]);
    expect(decide(spreading('p'))).toMatchObject({ kind: 'placed', feasible: 2 });
  });

  it('is no place to wait near that pod for one that wants it near: it may never come', () => {
    expect(setUp(web('nominee')).fitting(wanting('p', 'web'))).toEqual([]);
  });

  it('is a place for more important pods, and for the pod itself', () => {
    expect(setUp(web('nominee')).fitting(avoiding('p', 'web').priority(1))).toEqual(['n1', 'n2']);
    const itself = web('nominee').spec({
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('web')] } },
    });
    expect(setUp(itself).fitting(itself)).toEqual(['n1', 'n2']);
  });

  it('is told of in the reason when it is the only one, and no pod is evicted there in vain', () => {
    const { decide } = setUp(web('nominee').priority(5), { only: true });
    const decision = decide(avoiding('p', 'web').requests({ cpu: '1500m' }).priority(5), 'n1');
    expect(decision).toMatchObject({ kind: 'unschedulable', room: undefined });
    const small = decide(avoiding('p', 'web').priority(5), 'n1');
    expect(small).toMatchObject({ kind: 'unschedulable', diagnosis: { message: `0/1 nodes are available: 1 ${anti}.` } });
    expect(decide(pod('p').requests({ cpu: '1500m' }).priority(5))).toMatchObject({ room: { nominatedNodeName: 'n1' } });
  });
});
