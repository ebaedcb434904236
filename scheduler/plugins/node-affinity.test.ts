import { describe, expect, it } from 'vitest';
import type { NodeSelectorTerm } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { nodeAffinity } from './node-affinity.ts';

const rejected = "node(s) didn't match the pod's node affinity or selector";
const requiring = (...nodeSelectorTerms: NodeSelectorTerm[]) =>
  pod('p').spec({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });
const ssd4 = node('n').labels({ disk: 'ssd', cores: '4' }).build();

describe('NodeAffinity', () => {
  it.each<[string, Record<string, string>, string]>([
    ['all labels', { disk: 'ssd', cores: '4' }, 'passes'],
    ['one wrong value', { disk: 'ssd', cores: '8' }, rejected],
    ['a label that is missing', { zone: 'a' }, rejected],
  ])('judges a nodeSelector with %s', (_, selector, expected) => {
    expect(judge(nodeAffinity, { pod: pod('p').nodeSelector(selector).build(), nodes: [ssd4] }).filter.n).toBe(expected);
  });

  it.each<[string, string, string[], boolean]>([
    ['disk', 'In', ['hdd', 'ssd'], true],
    ['disk', 'In', ['hdd'], false],
    ['zone', 'In', ['a'], false],
    ['disk', 'NotIn', ['hdd'], true],
    ['disk', 'NotIn', ['ssd'], false],
    ['zone', 'NotIn', ['a'], true],
    ['disk', 'Exists', [], true],
    ['zone', 'Exists', [], false],
    ['zone', 'DoesNotExist', [], true],
    ['disk', 'DoesNotExist', [], false],
    ['cores', 'Gt', ['3'], true],
    ['cores', 'Gt', ['4'], false],
    ['cores', 'Lt', ['5'], true],
    ['cores', 'Lt', ['4'], false],
    ['disk', 'Gt', ['1'], false],
    ['zone', 'Lt', ['1'], false],
    ['disk', 'Like', ['s'], false],
    // What every object has is no label.
    ['constructor', 'Exists', [], false],
    ['toString', 'DoesNotExist', [], true],
  ])('judges the expression %s %s %j: %s', (key, operator, values, matches) => {
    const term = { matchExpressions: [{ key, operator, values }] };
    expect(judge(nodeAffinity, { pod: requiring(term).build(), nodes: [ssd4] }).filter.n).toBe(matches ? 'passes' : rejected);
  });

  const ssd = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] };
  const zone = { matchExpressions: [{ key: 'zone', operator: 'Exists', values: [] }] };
  const both = { matchExpressions: [...ssd.matchExpressions, ...zone.matchExpressions] };
  const named = (name: string) => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] });
  it.each<[string, NodeSelectorTerm[], boolean]>([
    ['one of two terms matches', [zone, ssd], true],
    ['one expression of a term does not match', [both], false],
    ['there are no terms', [], false],
    ['the only term is empty', [{}], false],
    ['the field metadata.name matches', [named('n')], true],
    ['the field metadata.name differs', [named('m')], false],
  ])('judges required terms when %s', (_, terms, matches) => {
    expect(judge(nodeAffinity, { pod: requiring(...terms).build(), nodes: [ssd4] }).filter.n).toBe(matches ? 'passes' : rejected);
  });

  it('wants both nodeSelector and required terms to match', () => {
    const wanting = requiring(ssd).nodeSelector({ zone: 'a' }).build();
    const good = node('good').labels({ disk: 'ssd', zone: 'a' }).build();
    expect(judge(nodeAffinity, { pod: wanting, nodes: [ssd4, good] }).filter).toEqual({ n: rejected, good: 'passes' });
  });

  it('scores by the weights of the preferred terms that match, the best node at 100', () => {
    const preferring = pod('p').spec({
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 30, preference: ssd },
            { weight: 10, preference: zone },
            { weight: 90, preference: {} },
          ],
        },
      },
    });
    const nodes = [
      node('none').build(),
      node('zone').labels({ zone: 'a' }).build(),
      node('both').labels({ disk: 'ssd', zone: 'a' }).build(),
    ];
    expect(judge(nodeAffinity, { pod: preferring.build(), nodes }).scores).toEqual({ none: 0, zone: 25, both: 100 });
  });

  it('wakes only for a node whose labels match', () => {
    const info = podInfo(pod('p').nodeSelector({ disk: 'ssd' }).build());
    const helps = (value: string) =>
      nodeAffinity.helps?.(info, { kind: 'node/labels', node: node('n').labels({ disk: value }).build() });
    expect([helps('ssd'), helps('hdd')]).toEqual([true, false]);
  });
});
