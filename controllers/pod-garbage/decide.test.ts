import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { decideByNode, decideFinished } from './decide.ts';

const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata?.name);
const pods = [pod('runs').on('n1').phase('Running').build(), pod('going').on('n1').deleting(0).build()];

describe('pods bound to a node', () => {
  it.each([
    ['that does not exist are all removed', undefined, ['runs', 'going']],
    ['that is well stay', node('n1').build(), []],
    ['that is not ready stay, also those that should have gone: they may run', node('n1').ready(false).build(), []],
    [
      'that is declared dead and is not ready go when they should have gone',
      node('n1').ready(false).taint('node.kubernetes.io/out-of-service', 'NoExecute').build(),
      ['going'],
    ],
    ['that is declared dead but ready stay', node('n1').taint('node.kubernetes.io/out-of-service', 'NoExecute').build(), []],
  ])('%s', (_, object, expected) => {
    expect(names(decideByNode(pods, object).pods)).toEqual(expected);
  });
});

describe('pods that have ended', () => {
  const ended = [3, 1, 2].map((at) =>
    pod(`p${at}`)
      .phase('Succeeded')
      .createdAt(at * 1_000)
      .build(),
  );

  it('stay up to the bound', () => {
    expect(decideFinished([...ended, pod('runs').phase('Running').build()], 3)).toEqual([]);
  });

  it('go beyond it, the oldest first', () => {
    expect(names(decideFinished(ended, 1))).toEqual(['p1', 'p2']);
  });

  it('do not count when they are going already', () => {
    expect(names(decideFinished([...ended, pod('going').phase('Failed').deleting(0).build()], 3))).toEqual([]);
  });
});
