import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Quantity, ResourceQuota, ResourceQuotaStatus } from '../../api/generated/types.ts';
import { type KindName, kindNamed } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { quotaShare } from '../../api/kinds/resource-quota/quota-share.ts';
import { quantityMilli } from '../../api/meta/quantity.ts';
import { pod } from '../../test/builders/index.ts';
import { type Content, decideQuota } from './decide.ts';

const now = 1_000_000;
type Texts = Record<string, string>;
const q = (texts: Texts): Record<string, Quantity> =>
  Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));
const texts = (amounts: Readonly<Record<string, Quantity>> = {}): Texts =>
  Object.fromEntries(Object.entries(amounts).map(([name, { string = '' }]) => [name, string]));

function contentOf(name: KindName, objects: readonly ApiObject[]): Content {
  const kind = kindNamed(name);
  return { kind, shares: () => objects.map((object) => quotaShare(kind, object, now)) };
}

const quotaOf = (hard: Texts, status: ResourceQuotaStatus = {}): ResourceQuota => ({ spec: { hard: q(hard) }, status });
const used = (hard: Texts, ...contents: Content[]) => texts(decideQuota(quotaOf(hard), contents, now).status?.used);
const pods = [
  pod('a').requests({ cpu: '500m', memory: '512Mi' }).build(),
  pod('b').requests({ cpu: '1', memory: '512Mi' }).build(),
  pod('c').requests({ cpu: '4' }).phase('Succeeded').build(),
];

describe('what a quota is used by', () => {
  it.each<[string, Texts, Content[], Texts]>([
    [
      'is what pods ask for that have not ended',
      { 'requests.cpu': '9', memory: '9Gi' },
      [contentOf('Pod', pods)],
      { 'requests.cpu': '1500m', memory: '1Gi' },
    ],
    [
      'are pods that run, and all of them',
      { pods: '9', 'count/pods': '9' },
      [contentOf('Pod', pods)],
      { pods: '2', 'count/pods': '3' },
    ],
    [
      'is nothing where there is nothing',
      { secrets: '1', pods: '1' },
      [contentOf('Secret', []), contentOf('Pod', [])],
      { secrets: '0', pods: '0' },
    ],
    [
      'is unknown of kinds that are not there',
      { pods: '1', 'count/widgets.example.com': '1' },
      [contentOf('Pod', [])],
      { pods: '0' },
    ],
    [
      'are objects of many kinds',
      { 'count/jobs.batch': '9', configmaps: '2k' },
      [
        contentOf('Job', [{}, {}]),
        contentOf(
          'ConfigMap',
          Array.from({ length: 1000 }, () => ({})),
        ),
      ],
      { 'count/jobs.batch': '2', configmaps: '1k' },
    ],
  ])('%s', (_title, hard, contents, wanted) => expect(used(hard, ...contents)).toEqual(wanted));

  it('is not written again when it says the same in other words', () => {
    const status = { hard: q({ 'requests.cpu': '9000m' }), used: q({ 'requests.cpu': '1.5' }) };
    expect(decideQuota(quotaOf({ 'requests.cpu': '9' }, status), [contentOf('Pod', pods)], now).status).toBeUndefined();
    const others = { ...status, used: q({ 'requests.cpu': '1.5', pods: '2' }) };
    expect(decideQuota(quotaOf({ 'requests.cpu': '9' }, others), [contentOf('Pod', pods)], now).status).toBeDefined();
  });

  it('changes by time alone when a pod is stuck', () => {
    const stuck = pod('a').build();
    stuck.metadata = { ...stuck.metadata, deletionTimestamp: { seconds: 990 }, deletionGracePeriodSeconds: 30 };
    const contents = [contentOf('Pod', [stuck])];
    expect(decideQuota(quotaOf({ pods: '1' }), contents, now)).toMatchObject({
      status: { used: q({ pods: '1' }) },
      againInMs: 20_001,
    });
    expect(decideQuota(quotaOf({ pods: '1' }), contents, now + 20_001)).toMatchObject({
      status: { used: q({ pods: '0' }) },
      againInMs: undefined,
    });
  });
});

it('what was written stays as it is, and is the sum of what is there', () => {
  const arbitrary = fc.array(fc.record({ cpu: fc.integer({ min: 0, max: 5_000 }), isOver: fc.boolean() }), { maxLength: 20 });
  fc.assert(
    fc.property(arbitrary, (asked) => {
      const built = asked.map(({ cpu, isOver }, i) =>
        pod(`p${i}`)
          .requests({ cpu: `${cpu}m` })
          .phase(isOver ? 'Failed' : 'Running')
          .build(),
      );
      const quota = quotaOf({ 'requests.cpu': '1', pods: '2' });
      const { status } = decideQuota(quota, [contentOf('Pod', built)], now);
      const running = asked.filter(({ isOver }) => !isOver);
      expect(quantityMilli(status?.used?.['requests.cpu'])).toBe(running.reduce((sum, { cpu }) => sum + cpu, 0));
      expect(status?.used?.pods?.string).toBe(String(running.length));
      expect(decideQuota({ ...quota, status: status! }, [contentOf('Pod', built)], now).status).toBeUndefined();
    }),
  );
});
