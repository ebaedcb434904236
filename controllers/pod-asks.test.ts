import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec, PodStatus, Quantity } from '../api/generated/types.ts';
import { kindNamed } from '../api/kinds/index.ts';
import { quotaShare } from '../api/kinds/resource-quota/quota-share.ts';
import { podOutline } from './outline.ts';

const q = (texts: Record<string, string>): Record<string, Quantity> =>
  Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));
const requests = (cpu: string) => ({ resources: { requests: q({ cpu }), limits: q({ cpu: '4' }) } });
const status = (allocated: string): PodStatus => ({
  containerStatuses: [{ name: 'c', allocatedResources: q({ cpu: allocated }) }],
});

describe('the outline of a pod takes the same of quotas as the pod', () => {
  it.each<[string, PodSpec, PodStatus]>([
    ['plain', { containers: [{ name: 'c', image: 'i', ...requests('1') }] }, {}],
    ['of no request', { containers: [{ name: 'c' }] }, {}],
    ['ended', { containers: [{ name: 'c', ...requests('1') }] }, { phase: 'Failed' }],
    [
      'with a sidecar',
      { containers: [{ name: 'c' }], initContainers: [{ name: 's', restartPolicy: 'Always', ...requests('1') }] },
      {},
    ],
    ['with amounts of its own and an overhead', { containers: [{ name: 'c' }], ...requests('2'), overhead: q({ cpu: '1' }) }, {}],
    ['of a class, with a deadline', { containers: [{ name: 'c' }], priorityClassName: 'high', activeDeadlineSeconds: 5 }, {}],
    ['that was given more than it asks for', { containers: [{ name: 'c', ...requests('1') }] }, status('3')],
    ['that was given what it asks for', { containers: [{ name: 'c', ...requests('1') }] }, status('1000m')],
    [
      'whose resize is impossible',
      { containers: [{ name: 'c', ...requests('9') }] },
      { ...status('1'), conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] },
    ],
    [
      'that looks at other namespaces',
      {
        containers: [{ name: 'c' }],
        affinity: {
          podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z', namespaces: ['other'] }] },
        },
      },
      {},
    ],
  ])('%s', (_title, spec, state) => {
    const metadata = { name: 'web', namespace: 'team', deletionTimestamp: { seconds: 100 }, deletionGracePeriodSeconds: 30 };
    const pod: Pod = { metadata, spec, status: state };
    const kind = kindNamed('Pod');
    expect(quotaShare(kind, podOutline(pod), 50_000)).toEqual(quotaShare(kind, pod, 50_000));
  });
});

it('pods of one template share what they ask for', () => {
  const pod = (image: string): Pod => ({ spec: { containers: [{ name: 'c', image, ...requests('1') }] } });
  expect(podOutline(pod('a')).spec?.containers).toBe(podOutline(pod('b')).spec?.containers);
  expect(podOutline(pod('a')).spec?.containers).toEqual([{ name: 'c', ...requests('1') }]);
});
