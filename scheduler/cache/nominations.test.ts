import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { podInfo } from '../framework/pod-info.ts';
import { createCache } from './cache.ts';
import { createNodeTable } from './node-table.ts';

const asking = (name: string, priority: number) =>
  pod(name)
    .priority(priority)
    .container('main', { ports: [{ containerPort: 1, hostPort: 80, protocol: 'TCP' }] })
    .requests({ cpu: '1', memory: '1Gi', 'example.com/gpu': '2' });
const info = (name: string, priority: number) => podInfo(asking(name, priority).build());

function setUp() {
  const cache = createCache({ now: () => 0 });
  for (const name of ['n1', 'n2']) cache.setNode(node(name).build());
  const table = createNodeTable();
  /** What a pod of this priority sees on a node: CPU, pods, host ports and devices that are taken. */
  const seenBy = (viewer: ReturnType<typeof info>, name = 'n1') => {
    cache.sync(table, viewer);
    const row = table.rowOf(name)!;
    const { requestedCpu, podCount, hostPorts } = table.columns;
    const ports = table.hostPorts[row]!.get('80/TCP')?.length ?? 0;
    expect(ports).toBe(hostPorts[row]);
    return [requestedCpu[row], podCount[row], ports, table.extended('example.com/gpu')?.requested[row] ?? 0];
  };
  return { cache, table, seenBy };
}

const none = [0, 0, 0, 0];
const one = [1000, 1, 1, 2];

describe('the room that a nominated pod waits for', () => {
  it('is taken for pods that are as important or less, and free for itself and for more important ones', () => {
    const { cache, table, seenBy } = setUp();
    const waiting = info('waiting', 5);
    cache.nominate(waiting, 'n1');
    expect(seenBy(info('equal', 5))).toEqual(one);
    expect(seenBy(waiting)).toEqual(none);
    expect(seenBy(info('less', 1))).toEqual(one);
    expect(seenBy(info('more', 9))).toEqual(none);
    expect(seenBy(info('equal', 5), 'n2')).toEqual(none);
    expect([...table.nominated.keys()]).toEqual(['n1']);
    cache.removeNode(node('n1').build());
    cache.sync(table, info('equal', 5));
    expect([...table.nominated.keys()]).toEqual([]);
  });

  it('adds up, moves with the nomination and ends with it', () => {
    const { cache, seenBy } = setUp();
    cache.nominate(info('a', 5), 'n1');
    cache.nominate(info('b', 5), 'n1');
    expect(seenBy(info('other', 5))).toEqual([2000, 2, 2, 4]);
    expect(seenBy(info('a', 5))).toEqual(one);
    cache.nominate(info('b', 5), 'n2');
    expect(seenBy(info('other', 5))).toEqual(one);
    expect(seenBy(info('other', 5), 'n2')).toEqual(one);
    expect(cache.withdraw('uid-a')).toMatchObject([{ kind: 'pod/removed', pod: { uid: 'uid-a' } }]);
    expect(cache.withdraw('uid-a')).toEqual([]);
    expect(seenBy(info('other', 5))).toEqual(none);
  });

  it('counts once when the pod is placed, and is there again when that is taken back', () => {
    const { cache, seenBy } = setUp();
    const waiting = info('a', 5);
    cache.nominate(waiting, 'n1');
    cache.assume(waiting, 'n1');
    expect(seenBy(info('other', 5))).toEqual(one);
    cache.forget('uid-a');
    expect(seenBy(info('other', 5))).toEqual(one);
    cache.assume(waiting, 'n2');
    expect([seenBy(info('other', 5)), seenBy(info('other', 5), 'n2')]).toEqual([none, one]);
  });

  it('is given back when the pod is bound elsewhere, has ended or is gone, which others hear', () => {
    const { cache, seenBy } = setUp();
    const kinds = (events: readonly { kind: string }[]) => events.map(({ kind }) => kind);
    cache.nominate(info('a', 5), 'n1');
    expect(kinds(cache.setPod(asking('a', 5).on('n2').build()))).toEqual(['pod/removed', 'pod/bound']);
    cache.nominate(info('b', 5), 'n1');
    expect(kinds(cache.setPod(asking('b', 5).on('n1').build()))).toEqual(['pod/bound']);
    expect(seenBy(info('other', 5))).toEqual(one);
    cache.nominate(info('c', 5), 'n1');
    expect(kinds(cache.removePod(asking('c', 5).build()))).toEqual(['pod/removed']);
    cache.nominate(info('d', 5), 'n1');
    expect(kinds(cache.setPod(asking('d', 5).phase('Failed').build()))).toEqual(['pod/removed']);
    expect(seenBy(info('other', 5))).toEqual(one);
  });

  it('waits on a node that is not known yet', () => {
    const { cache, seenBy } = setUp();
    cache.nominate(info('a', 5), 'n3');
    expect(seenBy(info('other', 5))).toEqual(none);
    cache.setNode(node('n3').build());
    expect(seenBy(info('other', 5), 'n3')).toEqual(one);
  });
});
