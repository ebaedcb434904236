import { describe, expect, it } from 'vitest';
import type { NodeJudgement } from '../../api/generated/types.ts';
import { placementTable, simulationTable, whyReport } from './report.ts';

const fits = (nodeName: string, score: number): NodeJudgement => ({
  nodeName,
  total: score * 3,
  scores: [{ plugin: 'Taint', score, weight: 3 }],
});
const full = (nodeName: string): NodeJudgement => ({
  nodeName,
  obstacles: [
    { plugin: 'Fit', reason: 'insufficient cpu', detail: 'needs 2 CPU, 1.4 free' },
    { plugin: 'Taint', reason: 'tainted', detail: 'taint k is not tolerated' },
  ],
});
const pod = { namespace: 'default', name: 'web' };

describe('the report of why', () => {
  it('shows every obstacle of a node, the first beside its name', () => {
    const text = whyReport(
      { ...pod, nodeCount: 1, message: '0/1 nodes are available: 1 insufficient cpu.', nodes: [full('n1')] },
      { nowMs: 0 },
    );
    expect(text).toBe(
      'pod default/web has no node: 0/1 nodes are available: 1 insufficient cpu.\n\n' +
        'DOES NOT FIT   REJECTED BY   WHY\n' +
        'n1             Fit           needs 2 CPU, 1.4 free\n' +
        '               Taint         taint k is not tolerated\n',
    );
  });

  it('names a scheduler that is not the usual one', () => {
    const explained = { ...pod, schedulerName: 'batch', message: 'm' };
    expect(whyReport(explained, { nowMs: 0 })).toBe('pod default/web (scheduler batch) has no node: m\n');
    expect(whyReport({ ...explained, schedulerName: 'default-scheduler' }, { nowMs: 0 })).toMatch(/^pod default\/web has/);
  });

  it('shows the scores with their weights, and marks the node that the pod is on', () => {
    const placement = { time: { seconds: 10 }, fitting: 2, nodeCount: 3 };
    const explained = {
      ...pod,
      nodeName: 'n2',
      bestNodes: ['n1'],
      nodeCount: 2,
      fitting: 2,
      nodes: [fits('n1', 90), fits('n2', 50)],
      placement,
    };
    expect(whyReport(explained, { nowMs: 22_000 })).toBe(
      'pod default/web is on n2, put there 12 s ago when 2 of 3 nodes fitted. As things are now, without it, 2 of 2 nodes fit, and it would go to n1.\n\n' +
        'FITS   TOTAL   Taint x3\nn1     270.0   90.0\nn2 *   150.0   50.0\n',
    );
  });

  it('says how many nodes it leaves out, counted over all nodes and not only those that were sent', () => {
    const nodes = Array.from({ length: 25 }, (_, index) => full(`n${index}`));
    const explained = { ...pod, nodeCount: 4_000, message: 'm', nodes };
    expect(whyReport(explained, { nowMs: 0 })).toContain('... and 3980 more (--all shows them)\n');
    expect(whyReport(explained, { nowMs: 0, all: true })).toContain('n24');
  });

  it('says what would have to change, and what is waited for', () => {
    const text = whyReport(
      { ...pod, message: 'm', remedies: ['on n1: needs more'], triedAgainWhen: ['a node comes', 'a pod leaves'] },
      { nowMs: 0 },
    );
    expect(text).toContain('It would fit if this were otherwise, one of:\n  on n1: needs more\n');
    expect(text).toContain('It is tried again when a node comes, or a pod leaves.\n');
  });
});

describe('tables', () => {
  it.each([
    [30_000, '30 s'],
    [600_000, '10 min'],
    [7_200_000, '2 h'],
  ])('tell that %i ms are %s', (nowMs, age) => {
    expect(placementTable([{ ...pod, nodeName: 'n1', time: { seconds: 0 } }], nowMs)).toMatch(new RegExp(`^${age} `, 'm'));
  });

  it('say where simulated pods go, or why nowhere', () => {
    const pods = [
      { ...pod, nodeName: 'n1', fitting: 1, nodeCount: 2 },
      { ...pod, name: 'late', nodeName: 'n1', fitting: 1, nodeCount: 2, message: 'it is not tried before its gates are removed' },
      {
        ...pod,
        name: 'db',
        message: '0/2 nodes are available',
        remedies: ['on n1: less important pods have to go', 'on n2: needs 2 CPU'],
      },
    ];
    expect(simulationTable(pods)).toBe(
      'NAMESPACE   POD    NODE     WHY\n' +
        'default     web    n1       1 of 2 nodes fit\n' +
        'default     late   n1       1 of 2 nodes fit; it is not tried before its gates are removed\n' +
        'default     db     <none>   0/2 nodes are available\n' +
        '\npod default/db would fit if this were otherwise, one of:\n' +
        '  on n1: less important pods have to go\n  on n2: needs 2 CPU\n',
    );
  });
});
