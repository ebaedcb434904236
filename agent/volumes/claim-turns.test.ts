import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { claim, pod } from '../../test/builders/index.ts';
import { createClaimTurns } from './claim-turns.ts';

const forOne = claim('c').modes('ReadWriteOncePod').build();
const using = (name: string, status: Pod['status'] = {}): Pod => ({
  ...pod(name)
    .spec({ volumes: [{ name: 'data', volumeSource: { persistentVolumeClaim: { claimName: 'c' } } }] })
    .build(),
  status,
});
const started = { containerStatuses: [{ name: 'app', containerID: 'docker://1' }] };

describe('a claim for one pod at a time', () => {
  it('is for the pod that comes first, until that has ended or is gone', () => {
    const [first, second] = [using('first'), using('second')];
    let here = [first, second];
    const turns = createClaimTurns(() => here);
    expect(turns.holderOf(forOne, first)).toBeUndefined();
    expect(turns.holderOf(forOne, second)).toBe('first');
    expect(turns.holderOf(forOne, first)).toBeUndefined();
    here = [using('first', { phase: 'Succeeded' }), second];
    expect(turns.holderOf(forOne, second)).toBeUndefined();
    here = [second];
    expect(turns.holderOf(forOne, using('third'))).toBe('second');
  });

  it('is for the pod that has started when the agent begins, in whatever order pods ask', () => {
    const [late, early] = [using('late'), using('early', started)];
    const turns = createClaimTurns(() => [late, early]);
    expect(turns.holderOf(forOne, late)).toBe('early');
    expect(turns.holderOf(forOne, early)).toBeUndefined();
  });

  it('is not held by a pod of another namespace, nor one that uses other claims', () => {
    const elsewhere = { ...using('other', started), metadata: { name: 'other', namespace: 'elsewhere', uid: 'u' } };
    const turns = createClaimTurns(() => [elsewhere, pod('plain').build()]);
    expect(turns.holderOf(forOne, using('first'))).toBeUndefined();
  });
});

it('may be used by many when it does not say so', () => {
  const turns = createClaimTurns(() => [using('early', started)]);
  expect(turns.holderOf(claim('c').build(), using('late'))).toBeUndefined();
});
