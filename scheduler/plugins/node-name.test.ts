import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { podInfo } from '../framework/pod-info.ts';
import { nodeName } from './node-name.ts';

const nodes = [node('n1').build(), node('n2').build()];

describe('NodeName', () => {
  it('lets a pod that names no node run anywhere', () => {
    expect(judge(nodeName, { pod: pod('p').build(), nodes }).filter).toEqual({ n1: 'passes', n2: 'passes' });
  });

  it('keeps a pod that names a node off every other', () => {
    const { filter, codes } = judge(nodeName, { pod: pod('p').on('n2').build(), nodes });
    expect(filter).toEqual({ n1: "node(s) didn't match the requested node name", n2: 'passes' });
    expect(codes.n1).toBe('unresolvable');
  });

  it.each([
    ['n2', true],
    ['n3', false],
  ])('wakes for a new node %s: %s', (name, expected) => {
    expect(nodeName.helps?.(podInfo(pod('p').on('n2').build()), { kind: 'node/added', node: node(name).build() })).toBe(expected);
  });
});
