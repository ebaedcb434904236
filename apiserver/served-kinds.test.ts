import { expect, it } from 'vitest';
import type { Pod, Toleration } from '../api/generated/types.ts';
import { kindNamed, kinds } from '../api/kinds/index.ts';
import { type LostNodeSeconds, servedKinds } from './served-kinds.ts';

const seconds = (tolerations: readonly Toleration[] = []) => tolerations.map((each) => [each.key, each.tolerationSeconds]);

function defaulted(given: LostNodeSeconds, tolerations: Toleration[] = []): unknown {
  const pod: Pod = { spec: { containers: [{ name: 'main', image: 'busybox' }], tolerations } };
  servedKinds({ lostNodeSeconds: given })
    .find(({ kind }) => kind === 'Pod')!
    .defaults(pod);
  return seconds(pod.spec?.tolerations);
}

it.each<[string, LostNodeSeconds, number, number]>([
  ['300 s', {}, 300, 300],
  ['what the server was told', { notReady: 20, unreachable: 0 }, 20, 0],
  ['either alone', { unreachable: 5 }, 300, 5],
])('a pod stays on a lost node for %s', (_, given, notReady, unreachable) => {
  expect(defaulted(given)).toEqual([
    ['node.kubernetes.io/not-ready', notReady],
    ['node.kubernetes.io/unreachable', unreachable],
  ]);
});

it('a pod that says so itself stays as long as it says', () => {
  const own: Toleration = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
  expect(defaulted({ notReady: 20, unreachable: 20 }, [own])).toEqual([
    [own.key, undefined],
    ['node.kubernetes.io/not-ready', 20],
  ]);
  expect(defaulted({ notReady: 20 }, [{ operator: 'Exists' }])).toEqual([[undefined, undefined]]);
});

it('other kinds are as they are', () => {
  expect(servedKinds({})).toHaveLength(kinds.length);
  expect(servedKinds({}).find(({ kind }) => kind === 'Node')).toBe(kindNamed('Node'));
});
