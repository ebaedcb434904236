import { describe, expect, it } from 'vitest';
import type { ContainerState, NodeMetrics } from '../../api/generated/types.ts';
import { node, pod, quantities } from '../../test/builders/index.ts';
import { plainTable } from '../printers/plain-table.ts';
import { computeTopNodes } from './top-nodes.ts';
import { computeTopPods } from './top-pods.ts';

const nowMs = Date.UTC(2026, 0, 1, 12);
const secondsAgo = (seconds: number) => ({ seconds: nowMs / 1000 - seconds });
const report = (name: string, cpu: string, memory: string, ageSeconds: number, pods: NodeMetrics['pods'] = []): NodeMetrics => ({
  metadata: { name },
  timestamp: secondsAgo(ageSeconds),
  usage: quantities({ cpu, memory }),
  pods,
});
const used = (name: string, cpu: string, memory: string) => ({ name, usage: quantities({ cpu, memory }) });

describe('top nodes', () => {
  const nodes = [
    node('n1').capacity({ cpu: '4', memory: '8Gi' }).allocatable({ cpu: '2', memory: '4Gi' }).build(),
    node('n2').capacity({ cpu: '4', memory: '8Gi' }).build(),
  ];
  const metrics = [report('n1', '500m', '1Gi', 5), report('n2', '1500m', '512Mi', 5)];
  const print = (options = {}) => {
    const { headings, rows } = computeTopNodes(nodes, metrics, { nowMs, ...options });
    return plainTable(headings, rows);
  };

  it('shows usage and how much that is of what pods may have', () => {
    expect(print()).toBe(
      [
        'NAME   CPU(cores)   CPU(%)   MEMORY(bytes)   MEMORY(%)',
        'n1     500m         25%      1024Mi          25%',
        'n2     1500m        37%      512Mi           6%',
        '',
      ].join('\n'),
    );
  });

  it('sorts by a figure, the largest first, and can count against the whole machine', () => {
    expect(print({ sortBy: 'cpu', showCapacity: true }).split('\n').slice(1, 3)).toEqual([
      'n2     1500m        37%      512Mi           6%',
      'n1     500m         12%      1024Mi          12%',
    ]);
  });

  it('takes the newer of the two reports of a node', () => {
    const newer = node('n1')
      .capacity({ cpu: '4' })
      .usage({ cpu: '2', memory: '2Gi' }, nowMs - 1000)
      .build();
    expect(computeTopNodes([newer], metrics, { nowMs }).rows).toEqual([['n1', '2000m', '50%', '2048Mi', '25%']]);
    const older = node('n1')
      .capacity({ cpu: '4' })
      .usage({ cpu: '2', memory: '2Gi' }, nowMs - 60_000)
      .build();
    expect(computeTopNodes([older], metrics, { nowMs }).rows[0]?.[1]).toBe('500m');
  });

  it('says of which node nothing is known, and whose figures are old', () => {
    const { rows, warnings } = computeTopNodes(nodes, [report('n1', '1', '1Gi', 300)], { nowMs });
    expect(rows[1]).toEqual(['n2', '<unknown>', '<unknown>', '<unknown>', '<unknown>']);
    expect(warnings).toEqual([
      'the figures of node "n1" are 5m old: its agent does not report; see "berth describe node n1"',
      'node "n2" has not reported what it uses yet; agents do so a few seconds after they start',
    ]);
  });
});

describe('top pods', () => {
  const pods = [pod('web').on('n1').phase('Running').build(), pod('db').namespace('team').on('n1').phase('Running').build()];
  const metrics = [
    report('n1', '1', '1Gi', 5, [
      { uid: 'uid-web', name: 'web', containers: [used('main', '100m', '64Mi'), used('side', '50m', '200Mi')] },
      { uid: 'uid-db', name: 'db', containers: [used('main', '250m', '128Mi')] },
      { uid: 'uid-of-another-web', name: 'web', containers: [used('main', '4', '1Gi')] },
    ]),
    // Of pods that are not on it a node tells nothing.
    report('n2', '1', '1Gi', 5, [{ uid: 'uid-web', name: 'web', containers: [used('main', '64', '64Gi')] }]),
  ];
  const print = (options = {}) => {
    const { headings, rows } = computeTopPods(pods, metrics, { nowMs, ...options });
    return plainTable(headings, rows);
  };

  it('adds up the containers of each pod', () => {
    expect(print({ showNamespace: true })).toBe(
      [
        'NAMESPACE   NAME   CPU(cores)   MEMORY(bytes)',
        'default     web    150m         264Mi',
        'team        db     250m         128Mi',
        '',
      ].join('\n'),
    );
  });

  it('finds what a static pod uses by the uid that its mirror names', () => {
    const mirror = pod('alone').annotations({ 'kubernetes.io/config.mirror': 'uid-db' }).on('n1').phase('Running').build();
    const { rows, warnings } = computeTopPods([mirror], metrics, { nowMs });
    expect([rows, warnings]).toEqual([[['alone', '250m', '128Mi']], []]);
  });

  it('shows containers one by one', () => {
    expect(print({ containers: true, sortBy: 'memory' })).toBe(
      [
        'POD   NAME   CPU(cores)   MEMORY(bytes)',
        'web   side   50m          200Mi',
        'db    main   250m         128Mi',
        'web   main   100m         64Mi',
        '',
      ].join('\n'),
    );
  });

  it('says which running pod has no figures yet, is silent of those in which nothing runs, and of old figures says how old', () => {
    const state = (name: string, now: ContainerState) =>
      pod(name)
        .on('n1')
        .phase('Running')
        .status({ containerStatuses: [{ name: 'main', state: now }] })
        .build();
    const more = [...pods, state('new', { running: {} }), state('crashes', { waiting: {} }), pod('waits').build()];
    const old = [{ ...metrics[0], timestamp: secondsAgo(600) }];
    expect(computeTopPods(more, old, { nowMs }).warnings).toEqual([
      'the figures of node "n1" are 10m old: its agent does not report; see "berth describe node n1"',
      'pod "new" runs, but its node has not reported what it uses yet (it does so every 15 s)',
    ]);
  });

  it('shows memory while the first rate of CPU is not there yet', () => {
    const first = [
      report('n1', '1', '1Gi', 5, [{ uid: 'uid-web', containers: [{ name: 'main', usage: quantities({ memory: '1Mi' }) }] }]),
    ];
    expect(computeTopPods(pods.slice(0, 1), first, { nowMs }).rows).toEqual([['web', '<unknown>', '1Mi']]);
  });
});
