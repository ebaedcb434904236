import { describe, expect, it } from 'vitest';
import type { Node, Pod } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { podInfo } from '../framework/pod-info.ts';
import { assumedExpiryMs, type Cache, createCache } from './cache.ts';
import { type ColumnName, createNodeTable } from './node-table.ts';
import { settleMs } from './usage.ts';

const start = Date.UTC(2026, 0, 1);

function setUp() {
  let time = start;
  const cache = createCache({ now: () => time });
  const table = createNodeTable();
  const figure = (name: string, column: ColumnName) => {
    cache.sync(table);
    const row = table.rowOf(name);
    return row === undefined ? undefined : table.columns[column][row];
  };
  return { cache, table, figure, pass: (ms: number) => (time += ms) };
}

const version = <T extends Node | Pod>(object: T, resourceVersion: number): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(resourceVersion) },
});
const web = pod('web').requests({ cpu: '500m', memory: '1Gi' });
const assume = (cache: Cache, built: Pod, nodeName: string) => cache.assume(podInfo(built), nodeName);

describe('cache', () => {
  it('counts an assumed pod on its node at once', () => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    assume(cache, web.build(), 'n1');
    expect(figure('n1', 'requestedCpu')).toBe(500);
    expect(figure('n1', 'podCount')).toBe(1);
  });

  it('counts a pod once when the API confirms what was assumed, and tells that it is bound', () => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    assume(cache, web.build(), 'n1');
    cache.acknowledge('uid-web');
    expect(cache.setPod(web.on('n1').build()).map(({ kind }) => kind)).toEqual(['pod/bound']);
    expect(figure('n1', 'requestedCpu')).toBe(500);
  });

  it('moves a pod to the node that the API names', () => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    cache.setNode(node('n2').build());
    assume(cache, web.build(), 'n1');
    cache.setPod(web.on('n2').build());
    expect([figure('n1', 'podCount'), figure('n2', 'podCount')]).toEqual([0, 1]);
  });

  it('forgets an assumed pod but never a bound one', () => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    assume(cache, web.build(), 'n1');
    cache.forget('uid-web');
    expect(figure('n1', 'requestedMemory')).toBe(0);
    cache.setPod(web.on('n1').build());
    cache.forget('uid-web');
    expect(figure('n1', 'requestedMemory')).toBe(1024 ** 3);
  });

  it('expires an assumed pod only when its binding was acknowledged and the API stays silent', () => {
    const { cache, figure, pass } = setUp();
    cache.setNode(node('n1').build());
    assume(cache, web.build(), 'n1');
    pass(10 * assumedExpiryMs);
    expect(cache.expire()).toEqual([]);
    cache.acknowledge('uid-web');
    pass(assumedExpiryMs - 1);
    expect(cache.expire()).toEqual([]);
    pass(1);
    expect(cache.expire().map(({ key }) => key)).toEqual(['default/web']);
    expect(figure('n1', 'podCount')).toBe(0);
  });

  it('keeps pods of a node that is not known and counts them when it appears', () => {
    const { cache, figure } = setUp();
    cache.setPod(web.on('n1').build());
    expect(figure('n1', 'podCount')).toBeUndefined();
    cache.setNode(node('n1').build());
    expect(figure('n1', 'requestedCpu')).toBe(500);
  });

  it('keeps the pods of a removed node for its return', () => {
    const { cache, figure } = setUp();
    const first = node('n1').build();
    cache.setNode(first);
    cache.setPod(web.on('n1').build());
    cache.removeNode(first);
    expect(figure('n1', 'podCount')).toBeUndefined();
    cache.setNode(
      node('n1')
        .with((object) => (object.metadata!.uid = 'second'))
        .build(),
    );
    expect(figure('n1', 'podCount')).toBe(1);
  });

  it.each(['Succeeded', 'Failed'] as const)('frees what a pod held when it has %s', (phase) => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    cache.setPod(version(web.on('n1').build(), 1));
    const events = cache.setPod(version(web.on('n1').phase(phase).build(), 2));
    expect(events.map(({ kind }) => kind)).toEqual(['pod/removed']);
    expect(figure('n1', 'requestedCpu')).toBe(0);
  });

  it('counts a bound pod that is resized with its new size, and tells of one that asks for less', () => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    cache.setPod(version(web.on('n1').build(), 1));
    expect(cache.setPod(version(web.requests({ cpu: '800m' }).on('n1').build(), 2))).toEqual([]);
    expect(figure('n1', 'requestedCpu')).toBe(800);
    const events = cache.setPod(version(web.requests({ cpu: '200m' }).on('n1').build(), 3));
    expect(events.map(({ kind }) => kind)).toEqual(['pod/shrunk']);
    expect(figure('n1', 'requestedCpu')).toBe(200);
  });

  it('ignores a version that is older than what it knows, and anything about a removed pod', () => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    cache.setPod(version(web.on('n1').phase('Succeeded').build(), 5));
    cache.setPod(version(web.on('n1').build(), 4));
    expect(figure('n1', 'podCount')).toBe(0);
    const other = pod('other').on('n1').build();
    cache.removePod(version(other, 6));
    cache.setPod(version(other, 7));
    expect(figure('n1', 'podCount')).toBe(0);
  });

  it('ignores the removal of a node that has been made anew', () => {
    const { cache, figure } = setUp();
    const old = node('n1').build();
    cache.setNode(old);
    cache.setNode(
      node('n1')
        .with((object) => (object.metadata!.uid = 'second'))
        .build(),
    );
    cache.removeNode(old);
    expect(figure('n1', 'podCount')).toBe(0);
  });

  it('counts extended resources on nodes and pods', () => {
    const { cache, table } = setUp();
    cache.setNode(node('n1').allocatable({ 'example.com/gpu': '4' }).build());
    cache.setPod(pod('a').requests({ 'example.com/gpu': '3' }).on('n1').build());
    cache.sync(table);
    const gpu = table.extended('example.com/gpu')!;
    expect([gpu.allocatable[0], gpu.requested[0]]).toEqual([4, 3]);
  });

  it('says what changed on a node in the words that rejections wait for', () => {
    const { cache } = setUp();
    const kinds = (built: Node, at: number) => cache.setNode(version(built, at)).map(({ kind }) => kind);
    expect(kinds(node('n1').build(), 1)).toEqual(['node/added']);
    expect(kinds(node('n1').build(), 2)).toEqual([]);
    expect(kinds(node('n1').labels({ disk: 'ssd' }).build(), 3)).toEqual(['node/labels']);
    expect(kinds(node('n1').labels({ disk: 'ssd' }).unschedulable().ready(false).build(), 4)).toEqual([
      'node/taints',
      'node/ready',
    ]);
  });
});

describe('usage', () => {
  const reading = (at: number, memory = '1Gi') => node('n1').usage({ cpu: '1', memory }, at).build();

  it('adds the requests of placements that the reading cannot show in full', () => {
    const { cache, figure, pass } = setUp();
    cache.setNode(version(reading(start), 1));
    pass(1_000);
    assume(cache, web.build(), 'n1');
    expect(figure('n1', 'unsettledCpu')).toBe(500);
    expect(figure('n1', 'memorySinceReading')).toBe(1024 ** 3);
    pass(5_000);
    cache.setNode(version(reading(start + 6_000), 2));
    expect(figure('n1', 'unsettledCpu')).toBe(500);
    expect(figure('n1', 'memorySinceReading')).toBe(0);
  });

  it('drops a placement from the additions with the first reading that came long enough after it', () => {
    const { cache, figure, pass } = setUp();
    cache.setNode(version(reading(start), 1));
    assume(cache, web.build(), 'n1');
    pass(settleMs);
    expect(figure('n1', 'unsettledCpu')).toBe(500);
    cache.setNode(version(reading(start + settleMs), 2));
    expect(figure('n1', 'unsettledCpu')).toBe(0);
    expect(figure('n1', 'requestedCpu')).toBe(500);
  });

  it('judges the age of a reading by its arrival, whatever the clock of the node says', () => {
    const { cache, figure, pass } = setUp();
    const hourBehind = start - 3_600_000;
    cache.setNode(version(reading(hourBehind), 1));
    expect(figure('n1', 'usageAt')).toBe(hourBehind);
    pass(60_000);
    cache.setNode(version(reading(hourBehind + 60_000), 2));
    expect(figure('n1', 'usageAt')).toBe(start + 60_000);
  });

  it('does not take an old reading for a new one when something else of the node changes', () => {
    const { cache, figure, pass } = setUp();
    cache.setNode(version(reading(start), 1));
    pass(60_000);
    cache.setNode(version({ ...reading(start), spec: { unschedulable: true } }, 2));
    expect(figure('n1', 'usageAt')).toBe(start);
  });

  it('has no reading for a node that reports none', () => {
    const { cache, figure } = setUp();
    cache.setNode(node('n1').build());
    expect(figure('n1', 'usageAt')).toBe(Number.NEGATIVE_INFINITY);
  });

  describe('when a pod leaves whose use the last reading shows', () => {
    const using = (memory: string, at: number, resourceVersion: number) =>
      version(node('n1').capacity({ memory: '16Gi' }).usage({ cpu: '2', memory }, at).build(), resourceVersion);
    const gi = (figure: number | undefined) => Math.round((figure ?? Number.NaN) / 1024 ** 3);
    const settledPod = (name: string) =>
      pod(name)
        .requests({ cpu: '1', memory: '5Gi' })
        .condition({ type: 'PodScheduled', status: 'True', lastTransitionTime: { seconds: start / 1000 - 3_600 } })
        .on('n1')
        .build();

    function setUpUsing() {
      const made = setUp();
      made.cache.setNode(using('10Gi', start, 1));
      for (const name of ['a', 'b']) made.cache.setPod(settledPod(name));
      return made;
    }

    it('credits its part at once, until the node reports again', () => {
      const { cache, figure, pass } = setUpUsing();
      cache.removePod(settledPod('a'));
      expect([gi(figure('n1', 'usageMemory')), figure('n1', 'usageCpu')]).toEqual([5, 1000]);
      cache.setNode(version(using('10Gi', start, 1), 2));
      expect(gi(figure('n1', 'usageMemory'))).toBe(5);
      pass(60_000);
      cache.setNode(using('7Gi', start + 60_000, 3));
      expect(gi(figure('n1', 'usageMemory'))).toBe(7);
    });

    it('credits one that has finished, and nothing for one that changes', () => {
      const { cache, figure } = setUpUsing();
      cache.setPod(version({ ...settledPod('a'), status: { phase: 'Running' } }, 2));
      expect(gi(figure('n1', 'usageMemory'))).toBe(10);
      cache.setPod(version({ ...settledPod('a'), status: { phase: 'Succeeded' } }, 3));
      expect(gi(figure('n1', 'usageMemory'))).toBe(5);
    });

    it('credits nothing for one that came after the reading, whose request is no longer added', () => {
      const { cache, figure, pass } = setUpUsing();
      pass(1_000);
      const late = pod('late').requests({ memory: '2Gi' }).on('n1').build();
      cache.setPod(late);
      expect(gi(figure('n1', 'memorySinceReading'))).toBe(2);
      cache.removePod(late);
      expect([figure('n1', 'memorySinceReading'), gi(figure('n1', 'usageMemory'))]).toEqual([0, 10]);
    });
  });
});
