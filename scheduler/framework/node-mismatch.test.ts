import { describe, expect, it } from 'vitest';
import type { NodeSelectorTerm } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { explainPodMismatch, explainSelectorMismatch } from './node-mismatch.ts';

const there = node('n1').labels({ disk: 'hdd', gpu: '1' }).build();
const requiring = (...nodeSelectorTerms: NodeSelectorTerm[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const term = (key: string, operator: string, ...values: string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key, operator, values }],
});

describe('what a node lacks', () => {
  it.each<[string, object, string]>([
    [
      'labels',
      { nodeSelector: { disk: 'ssd', gpu: '1', zone: 'a' } },
      'needs disk=ssd and zone=a; the node has disk=hdd, no zone',
    ],
    ['In', requiring(term('disk', 'In', 'ssd', 'nvme')), 'needs disk in (ssd, nvme); the node has disk=hdd'],
    ['In of one', requiring(term('disk', 'In', 'ssd')), 'needs disk=ssd; the node has disk=hdd'],
    ['NotIn', requiring(term('disk', 'NotIn', 'hdd')), 'needs disk not in (hdd); the node has disk=hdd'],
    ['Exists', requiring(term('zone', 'Exists')), 'needs a label zone; the node has no zone'],
    ['DoesNotExist', requiring(term('gpu', 'DoesNotExist')), 'needs no label gpu; the node has gpu=1'],
    ['Gt', requiring(term('gpu', 'Gt', '2')), 'needs gpu > 2; the node has gpu=1'],
    ['Lt', requiring(term('gpu', 'Lt', '1')), 'needs gpu < 1; the node has gpu=1'],
    [
      'terms',
      requiring(
        { matchExpressions: [...term('disk', 'In', 'ssd').matchExpressions!, { key: 'zone', operator: 'Exists' }] },
        term('gpu', 'Gt', '2'),
      ),
      'needs disk=ssd and a label zone, or gpu > 2; the node has disk=hdd, no zone, gpu=1',
    ],
    [
      'labels and terms',
      { nodeSelector: { zone: 'a' }, ...requiring(term('disk', 'In', 'ssd'), term('gpu', 'Gt', '2')) },
      'needs zone=a and (disk=ssd, or gpu > 2); the node has no zone, disk=hdd, gpu=1',
    ],
    [
      'labels, where terms match',
      { nodeSelector: { zone: 'a' }, ...requiring(term('gpu', 'Exists')) },
      'needs zone=a; the node has no zone',
    ],
    [
      'its name',
      requiring({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }] }),
      'needs metadata.name=n2; the node has metadata.name=n1',
    ],
    ['anything that there could be', requiring({}), 'needs what no node has: the term is empty'],
  ])('of what a pod asks for is told beside what it asks for: %s', (_, spec, words) => {
    expect(explainPodMismatch(pod('p').spec(spec).build(), there)).toBe(words);
  });

  it('of what a volume asks for, too', () => {
    const words = explainSelectorMismatch({ nodeSelectorTerms: [term('disk', 'In', 'ssd')] }, there);
    expect(words).toBe('needs disk=ssd; the node has disk=hdd');
  });
});
