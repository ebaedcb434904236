import { describe, expect, it } from 'vitest';
import { containerSeries, createUsageHistory, nodeSeries } from '../machine/usage-history.ts';
import { computeUsageHistory } from './serve-usage.ts';

const nothing = Number.NaN;

function measured() {
  const history = createUsageHistory();
  for (const [at, cpu] of [
    [1_000, nothing],
    [16_000, 0.1],
  ] as const) {
    history.begin(at);
    history.add('', new Array<number>(Object.keys(nodeSeries).length).fill(2));
    history.add('u1', [nothing, 100]);
    for (const name of ['app', 'side']) {
      const values = new Array<number>(Object.keys(containerSeries).length).fill(nothing);
      history.add(`u1/${name}`, [cpu, 4096, ...values.slice(2)]);
    }
    history.add('u10/app', new Array<number>(Object.keys(containerSeries).length).fill(9));
  }
  return history;
}

const ask = (wanted: object, podUid = 'u1') =>
  computeUsageHistory({ history: measured(), nodeName: 'n1', podUid, wanted: { podName: 'web', ...wanted } });

describe('the history of a pod', () => {
  it('has the series of the pod and of its containers, each with its unit, without those that were not measured', () => {
    expect(ask({})).toEqual({
      nodeName: 'n1',
      times: [{ seconds: 1 }, { seconds: 16 }],
      series: [
        { container: '', figure: 'networkTransmit', unit: 'bytes/s', values: [100, 100] },
        { container: 'app', figure: 'cpu', unit: 'cores', values: [nothing, 0.1] },
        { container: 'app', figure: 'memory', unit: 'bytes', values: [4096, 4096] },
        { container: 'side', figure: 'cpu', unit: 'cores', values: [nothing, 0.1] },
        { container: 'side', figure: 'memory', unit: 'bytes', values: [4096, 4096] },
      ],
    });
  });

  it('can be of one container alone', () => {
    expect(ask({ container: 'side' }).series?.map(({ container, figure }) => [container, figure])).toEqual([
      ['side', 'cpu'],
      ['side', 'memory'],
    ]);
  });

  it.each([
    ['another container', { container: 'db' }, 'u1', 'choose one of app, side'],
    ['a pod of which nothing was measured', {}, 'u2', 'pod "web" has no history of what it used'],
  ])('is refused for %s', (_, wanted, uid, message) => {
    expect(() => ask(wanted, uid)).toThrow(message);
  });

  it('of very many containers is read one by one', () => {
    const history = createUsageHistory();
    history.begin(0);
    for (let i = 0; i < 51; i++) history.add(`u1/c${i}`, new Array<number>(8).fill(1));
    const of = (container: string) =>
      computeUsageHistory({ history, nodeName: 'n1', podUid: 'u1', wanted: { podName: 'web', container } });
    expect(() => of('')).toThrow('pod "web" has 51 containers: name one of them');
    expect(of('c7').series).toHaveLength(8);
  });
});

describe('the history of a node', () => {
  it('has every series of the node', () => {
    expect(ask({ podName: '', nodeName: 'n1' }, '').series?.map(({ figure }) => figure)).toEqual(Object.keys(nodeSeries));
  });
});
