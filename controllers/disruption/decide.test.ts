import { describe, expect, it } from 'vitest';
import type { IntOrString, Pod, PodDisruptionBudget, PodDisruptionBudgetSpec } from '../../api/generated/types.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import { pod } from '../../test/builders/index.ts';
import { type ControllerScales, decideBudget, disruptionTimeoutMs } from './decide.ts';

const now = new Date('2026-01-01T00:00:00Z');
const at = (ms: number) => ({ seconds: Math.floor((now.getTime() + ms) / 1000) });
const number = (intVal: number): IntOrString => ({ type: 0, intVal });
const text = (strVal: string): IntOrString => ({ type: 1, strVal });
const owner = { metadata: { name: 'web', uid: 'uid-web' } };
const budget = (spec: PodDisruptionBudgetSpec, status: PodDisruptionBudget['status'] = {}): PodDisruptionBudget => ({
  metadata: { name: 'b', namespace: 'default', generation: 3 },
  spec,
  status,
});

const ready = (name: string) => pod(name).phase('Running').condition({ type: 'Ready', status: 'True' });
const wants = (replicas: number): ControllerScales => new Map([['uid-web', { uid: 'uid-web', replicas }]]);
const known = (scales: ControllerScales, when = now) => ({ scales, now: when });
/** Pods of a controller, the first `healthy` of them ready. */
const owned = (count: number, healthy = count): Pod[] =>
  Array.from({ length: count }, (_, i) => {
    const made = (i < healthy ? ready(`p${i}`) : pod(`p${i}`).phase('Running')).build();
    made.metadata!.ownerReferences = [controllerReference({ apiVersion: 'apps/v1', kind: 'ReplicaSet' }, owner)];
    return made;
  });
const figures = (made: PodDisruptionBudget, pods: readonly Pod[], scales = wants(pods.length)) => {
  const { status } = decideBudget(made, pods, known(scales));
  const { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed } = status!;
  return [expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed];
};

describe('a budget allows', () => {
  it.each<[string, PodDisruptionBudgetSpec, Pod[], number[]]>([
    ['what is healthy beyond the number that must stay', { minAvailable: number(2) }, owned(5), [5, 2, 5, 3]],
    ['nothing when fewer are healthy', { minAvailable: number(3) }, owned(5, 2), [5, 3, 2, 0]],
    ['what is beyond the part that must stay, rounded up', { minAvailable: text('50%') }, owned(5), [5, 3, 5, 2]],
    ['nothing when all must stay', { minAvailable: text('100%') }, owned(4), [4, 4, 4, 0]],
    ['the number that may be away', { maxUnavailable: number(1) }, owned(3), [3, 2, 3, 1]],
    ['that number less what is away', { maxUnavailable: number(1) }, owned(3, 2), [3, 2, 2, 0]],
    ['the part that may be away, rounded up', { maxUnavailable: text('30%') }, owned(4), [4, 2, 4, 2]],
    ['all of them, if more than all may be away', { maxUnavailable: number(9) }, owned(3), [3, 0, 3, 3]],
    ['nothing of no pods', { minAvailable: number(0) }, [], [0, 0, 0, 0]],
    ['nothing when it says no bound', {}, owned(3), [0, 0, 3, 0]],
    ['pods without a controller by number', { minAvailable: number(1) }, [ready('a').build(), ready('b').build()], [2, 1, 2, 1]],
    ['none of them by part, since the whole is not known', { maxUnavailable: number(1) }, [ready('a').build()], [0, 0, 1, 0]],
  ])('%s', (_title, spec, pods, wanted) => {
    expect(figures(budget(spec), pods)).toEqual(wanted);
  });

  it('nothing of pods that are on their way out', () => {
    const pods = [ready('a').deleting(0).build(), ready('b').build(), ready('c').build()];
    expect(figures(budget({ minAvailable: number(1) }), pods)).toEqual([3, 1, 2, 1]);
  });
});

describe('counts against what the controllers want', () => {
  it.each<[string, PodDisruptionBudgetSpec, Pod[], number, number[]]>([
    ['pods that are still to come as away', { maxUnavailable: number(1) }, owned(3), 5, [5, 4, 3, 0]],
    ['a part of what is wanted, not of what is there', { minAvailable: text('50%') }, owned(3), 4, [4, 2, 3, 1]],
    ['pods that are too many as spare', { maxUnavailable: number(1) }, owned(4), 2, [2, 1, 4, 3]],
    ['nothing where none are wanted', { maxUnavailable: number(1) }, owned(2), 0, [0, 0, 2, 0]],
    ['a number that must stay by what is there', { minAvailable: number(2) }, owned(3), 9, [3, 2, 3, 1]],
  ])('%s', (_title, spec, pods, replicas, wanted) => {
    expect(figures(budget(spec), pods, wants(replicas))).toEqual(wanted);
  });

  it('once, where two ReplicaSets share one Deployment', () => {
    const [old, next] = [owned(2), owned(2)];
    for (const { metadata } of next) metadata!.ownerReferences![0]!.uid = 'uid-next';
    const deployment = { uid: 'uid-deployment', replicas: 4 };
    const scales = new Map([
      ['uid-web', deployment],
      ['uid-next', deployment],
    ]);
    expect(figures(budget({ maxUnavailable: number(1) }), [...old, ...next], scales)).toEqual([4, 3, 4, 1]);
  });
});

describe('allows nothing, and says why, when the controller of a pod', () => {
  it.each<[string, ControllerScales, string]>([
    ['is not there', new Map(), 'found no controllers for pod "p0"'],
    ['has no scale', new Map([['uid-web', { problem: 'jobs.batch does not implement the scale subresource' }]]), 'jobs.batch'],
  ])('%s', (_title, scales, message) => {
    const before = { observedGeneration: 2, expectedPods: 3, desiredHealthy: 2, currentHealthy: 3, disruptionsAllowed: 1 };
    const made = budget({ maxUnavailable: number(1) }, before);
    const { status, failure } = decideBudget(made, owned(3), known(scales));
    expect(failure).toContain(message);
    expect(status).toMatchObject({
      ...before,
      disruptionsAllowed: 0,
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: failure }],
    });
    expect(decideBudget({ ...made, status: status! }, owned(3), known(scales)).status).toBeUndefined();
  });
});

it('names the pods without a controller, where that matters', () => {
  const pods = [ready('lone').build(), ...owned(2)];
  expect(decideBudget(budget({ maxUnavailable: number(1) }), pods, known(wants(2))).unmanaged).toEqual(['lone']);
  expect(decideBudget(budget({ minAvailable: number(1) }), pods, known(wants(2))).unmanaged).toEqual([]);
});

it('passes over pods whose eviction was let in until they go, and gives up on it after two minutes', () => {
  const disruptedPods = { p0: at(-1_000), p1: at(-disruptionTimeoutMs), gone: at(-1_000) };
  const { status, overdue } = decideBudget(budget({ minAvailable: number(1) }, { disruptedPods }), owned(3), known(new Map()));
  expect(status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1, disruptedPods: { p0: at(-1_000) } });
  expect(Object.keys(status?.disruptedPods ?? {})).toEqual(['p0']);
  expect(overdue.map(({ metadata }) => metadata?.name)).toEqual(['p1']);
});

it('says in a condition whether it allows any, and writes nothing when all stands there', () => {
  const made = budget({ minAvailable: number(1) });
  const { status } = decideBudget(made, owned(2), known(new Map()));
  expect(status).toMatchObject({
    observedGeneration: 3,
    conditions: [{ type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', observedGeneration: 3 }],
  });
  const later = new Date(now.getTime() + 60_000);
  expect(decideBudget({ ...made, status: status! }, owned(2), known(new Map(), later)).status).toBeUndefined();
  expect(decideBudget({ ...made, status: status! }, owned(2, 1), known(new Map(), later)).status?.conditions).toMatchObject([
    { status: 'False', reason: 'InsufficientPods', lastTransitionTime: at(60_000) },
  ]);
});
