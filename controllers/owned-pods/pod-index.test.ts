import { expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { isNewsToOwners, ownersOf } from './pod-index.ts';

const inPhase = (phase: string, nodeName = ''): Pod => ({ ...pod('web').build(), spec: { nodeName }, status: { phase } });

it('is news to owners what changes a pod as they look at it, and not where it runs', () => {
  const [old, bound, running] = [inPhase('Pending'), inPhase('Pending', 'n1'), inPhase('Running', 'n1')];
  for (let round = 0; round < 2; round++) {
    expect(isNewsToOwners(bound, old)).toBe(false);
    expect(isNewsToOwners(running, bound)).toBe(true);
    expect(isNewsToOwners(bound, running)).toBe(true);
    expect(isNewsToOwners(running, running)).toBe(false);
  }
});

it('compares the two versions of an update once, however many controllers ask', () => {
  let reads = 0;
  const counted: Pod = Object.defineProperty({ ...inPhase('Running') }, 'status', {
    get: () => {
      reads++;
      return { phase: 'Running' };
    },
  });
  const old = inPhase('Pending');
  for (let asked = 0; asked < 6; asked++) expect(isNewsToOwners(counted, old)).toBe(true);
  const readsOfOne = reads;
  expect(isNewsToOwners(counted, inPhase('Pending'))).toBe(true);
  expect(reads).toBe(2 * readsOfOne);
});

it('compiles the selector of an owner once, however many pods without a controller come', () => {
  let reads = 0;
  const selector = {
    get matchExpressions() {
      reads++;
      return [{ key: 'app', operator: 'In', values: ['web'] }];
    },
  };
  const owner = { metadata: { namespace: 'default', name: 'web' } };
  const lister = { byIndex: () => [owner], get: () => owner };
  const owning = { kind: { apiVersion: 'apps/v1', kind: 'ReplicaSet' }, lister, selectorOf: () => selector };
  const asked = ['web', 'db', 'web'].map((app) => ownersOf(owning, pod(app).labels({ app }).build()));
  expect(asked).toEqual([['default/web'], [], ['default/web']]);
  expect(reads).toBe(1);
});
