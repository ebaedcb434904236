import { expect, it } from 'vitest';
import { jobPod, makeJob } from '../../test/builders/job.ts';
import { newIndexedPod, newPod } from './new-pod.ts';

const template = {
  metadata: { labels: { app: 'x' }, finalizers: ['example.com/own'] },
  spec: {
    initContainers: [{ name: 'init', image: 'i' }],
    containers: [
      { name: 'main', image: 'i', env: [{ name: 'A', value: '1' }] },
      { name: 'own', image: 'i', env: [{ name: 'JOB_COMPLETION_INDEX', value: 'mine' }] },
    ],
  },
};
const variable = {
  name: 'JOB_COMPLETION_INDEX',
  valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" } },
};

it('a pod is controlled by its Job and has the finalizer, beside those of the template', () => {
  const { metadata, spec } = newPod(makeJob({ template }));
  expect(metadata).toMatchObject({
    generateName: 'work-',
    namespace: 'a',
    labels: { app: 'x' },
    finalizers: ['example.com/own', 'batch.kubernetes.io/job-tracking'],
    ownerReferences: [
      { apiVersion: 'batch/v1', kind: 'Job', name: 'work', uid: 'u1', controller: true, blockOwnerDeletion: true },
    ],
  });
  expect(spec?.hostname).toBeUndefined();
});

it('a pod of an index says so in its name, host name, label, annotation and to every container', () => {
  const { metadata, spec } = newIndexedPod(makeJob({ template, completionMode: 'Indexed', completions: 20 }), 12, undefined);
  expect(metadata).toMatchObject({
    generateName: 'work-12-',
    labels: { app: 'x', 'batch.kubernetes.io/job-completion-index': '12' },
    annotations: { 'batch.kubernetes.io/job-completion-index': '12' },
  });
  expect(metadata?.annotations).not.toHaveProperty('batch.kubernetes.io/job-index-failure-count');
  expect(spec?.hostname).toBe('work-12');
  expect(spec?.initContainers?.[0]?.env).toEqual([variable]);
  expect(spec?.containers?.[0]?.env).toEqual([{ name: 'A', value: '1' }, variable]);
  expect(spec?.containers?.[1]?.env).toEqual([{ name: 'JOB_COMPLETION_INDEX', value: 'mine' }]);
});

it.each([
  ['none before', undefined, {}, '0', undefined],
  ['one that failed', jobPod('p', { phase: 'Failed', failures: 2 }), {}, '3', undefined],
  [
    'one whose failure is ignored',
    jobPod('p', { phase: 'Failed', failures: 2, exitCode: 3 }),
    { podFailurePolicy: { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [3] } }] } },
    '2',
    '1',
  ],
])('with a limit for each index a pod takes over the failures of the one before: %s', (_, before, more, counted, ignored) => {
  const job = makeJob({ completionMode: 'Indexed', completions: 3, backoffLimitPerIndex: 5, ...more });
  const { annotations } = newIndexedPod(job, 1, before).metadata ?? {};
  expect(annotations?.['batch.kubernetes.io/job-index-failure-count']).toBe(counted);
  expect(annotations?.['batch.kubernetes.io/job-index-ignored-failure-count']).toBe(ignored);
});

it('a long name is cut so that the index stays in it', () => {
  const job = makeJob({ completionMode: 'Indexed', completions: 3 });
  job.metadata = { ...job.metadata, name: 'a'.repeat(63) };
  const { generateName = '' } = newIndexedPod(job, 7, undefined).metadata ?? {};
  expect([generateName.length, generateName.slice(-4)]).toEqual([58, 'a-7-']);
});
