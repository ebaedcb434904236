import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PersistentVolumeClaim, Pod, StatefulSetSpec, StatefulSetStatus } from '../../api/generated/types.ts';
import { claimNamed, now, podAt, setViewOf, statefulSetOf } from '../../test/builders/stateful-set.ts';
import { decideReplicas, type SetPlan, type SetView } from './decide.ts';
import { isLeaving, isRunningAndReady, isServing, ordinalOf, revisionOf, wishesOf } from './replicas.ts';
import { computeStatus } from './status.ts';

// A set whose pods live and die by themselves. Pods of the revisions "bad1" and "bad2" never become ready.

type Happening =
  | { readonly kind: 'template'; readonly revision: string }
  | { readonly kind: 'spec'; readonly spec: StatefulSetSpec }
  | { readonly kind: 'lose' | 'fail' | 'unready' | 'run'; readonly ordinal: number }
  | { readonly kind: 'look' };

const revisions = ['good1', 'good2', 'bad1', 'bad2'];
const claimTemplates = [{ metadata: { name: 'data' } }];

class World {
  readonly pods = new Map<number, Pod>();
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly proven = new Set<string>();
  spec: StatefulSetSpec;
  template: string;
  status: StatefulSetStatus = {};
  #made = 0;

  constructor(spec: StatefulSetSpec, template: string) {
    this.spec = { ...spec, volumeClaimTemplates: claimTemplates };
    this.template = template;
  }

  view(): SetView {
    for (const pod of this.pods.values()) if (isRunningAndReady(pod)) this.proven.add(revisionOf(pod));
    const current = this.status.currentRevision ?? this.template;
    const of = { spec: this.spec, pods: [...this.pods.values()], current, update: this.template };
    return setViewOf({ ...of, isCurrentProven: this.proven.has(current), claims: [...this.claims.values()] });
  }

  /** What the controller does, once. */
  look(): SetPlan {
    const view = this.view();
    const plan = decideReplicas(view);
    for (const { claim, references } of plan.owners)
      this.claims.set(claim.metadata!.name!, { metadata: { ...claim.metadata, ownerReferences: [...references] } });
    for (const { ordinal, claims, revision } of plan.make) {
      for (const { metadata } of claims) this.claims.set(metadata!.name!, claimNamed(metadata!.name!));
      const parts = { phase: 'Pending', uid: `u${this.#made++}` };
      if (revision) this.pods.set(ordinal, podAt(ordinal, { ...parts, revision: revision.metadata!.name! }));
    }
    for (const pod of plan.delete) this.#leave(ordinalOf(view.set, pod)!);
    const set = statefulSetOf(this.spec, this.status);
    const of = { set, pods: [...this.pods.values()], now, current: view.current.metadata!.name!, update: this.template };
    this.status = computeStatus(of) ?? this.status;
    return plan;
  }

  happen(event: Happening): void {
    if (event.kind === 'template') this.template = event.revision;
    if (event.kind === 'spec') this.spec = { ...this.spec, ...event.spec };
    if ('ordinal' in event) {
      const pod = this.pods.get(event.ordinal);
      if (!pod) return;
      if (event.kind === 'lose') this.#leave(event.ordinal);
      if (event.kind === 'run') this.run(event.ordinal);
      if (event.kind === 'fail' && !isLeaving(pod)) this.#set(event.ordinal, { phase: 'Failed' });
      if (event.kind === 'unready' && pod.status?.phase === 'Running') this.#set(event.ordinal, {});
    }
  }

  /** The pod goes on: it starts, becomes ready, or is gone. */
  run(ordinal: number): void {
    const pod = this.pods.get(ordinal)!;
    if (isLeaving(pod)) this.#remove(ordinal, pod);
    else if (pod.status?.phase === 'Failed') return;
    else this.#set(ordinal, revisionOf(pod).startsWith('bad') ? {} : { readyFor: 60 });
  }

  #set(ordinal: number, parts: object): void {
    const pod = this.pods.get(ordinal)!;
    const isGone = isLeaving(pod);
    this.pods.set(ordinal, podAt(ordinal, { revision: revisionOf(pod), uid: pod.metadata!.uid!, isLeaving: isGone, ...parts }));
  }

  #leave(ordinal: number): void {
    const pod = this.pods.get(ordinal)!;
    this.pods.set(ordinal, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: { seconds: now / 1000 } } });
  }

  /** The claims that go with the pod are collected. */
  #remove(ordinal: number, pod: Pod): void {
    this.pods.delete(ordinal);
    for (const [name, { metadata }] of this.claims)
      if (metadata?.ownerReferences?.some(({ uid }) => uid === pod.metadata?.uid)) this.claims.delete(name);
  }
}

/** What a plan must never do, in words. */
function findWrong(view: SetView, plan: SetPlan): string[] {
  const { set, pods, update, current } = view;
  const wishes = wishesOf(set);
  const at = (ordinal: number) => pods.find((pod) => ordinalOf(set, pod) === ordinal);
  const isWanted = (ordinal: number) => ordinal >= wishes.start && ordinal < wishes.end;
  const serves = (pod: Pod | undefined) => pod !== undefined && isServing(pod, wishes, now);
  const ordinals = Array.from({ length: wishes.end - wishes.start }, (_, nth) => wishes.start + nth);
  const unavailable = ordinals.filter((ordinal) => !serves(at(ordinal))).length;
  const wrong: string[] = [];
  const made = plan.make.filter(({ revision }) => revision);
  for (const { ordinal } of made) {
    if (!isWanted(ordinal) || at(ordinal)) wrong.push(`makes ${ordinal}, which is not wanted or there`);
    if (wishes.isOrdered && ordinals.some((lower) => lower < ordinal && !serves(at(lower))))
      wrong.push(`makes ${ordinal} before its predecessors are available`);
  }
  const lost = plan.delete.filter((pod) => isWanted(ordinalOf(set, pod)!) && serves(pod));
  if (lost.length > 0 && unavailable + lost.length > wishes.maxUnavailable) wrong.push('makes too many unavailable');
  for (const pod of lost) if (revisionOf(pod) === update.metadata?.name) wrong.push('takes a pod that is as it should be');
  for (const pod of plan.delete) {
    const ordinal = ordinalOf(set, pod)!;
    if (isLeaving(pod)) wrong.push('deletes a pod twice');
    if (
      isWanted(ordinal) &&
      ordinal < wishes.updatedFrom &&
      revisionOf(pod) === current.metadata?.name &&
      pod.status?.phase !== 'Failed'
    )
      wrong.push(`updates ${ordinal} below the partition`);
    if (!isWanted(ordinal) && wishes.isOrdered) {
      const highest = Math.max(...pods.map((each) => ordinalOf(set, each)!).filter((each) => !isWanted(each)));
      if (ordinal !== highest || unavailable > 0) wrong.push(`takes ${ordinal} out of order`);
    }
  }
  const isOneByOne = wishes.isOrdered && lost.length === 0;
  if (isOneByOne && made.length + plan.delete.length > 1) wrong.push('does two things at once in order');
  return wrong;
}

const ordinal = fc.integer({ min: 0, max: 6 });
const spec = fc.record<StatefulSetSpec>({
  replicas: fc.integer({ min: 0, max: 5 }),
  ordinals: fc.constantFrom(undefined, { start: 2 }) as fc.Arbitrary<{ start: number }>,
  podManagementPolicy: fc.constantFrom('OrderedReady', 'Parallel'),
  updateStrategy: fc.oneof(
    fc.constant({ type: 'OnDelete' }),
    fc.constant({ type: 'RollingUpdate' }),
    fc.record({
      type: fc.constant('RollingUpdate'),
      rollingUpdate: fc.record({
        partition: fc.integer({ min: 0, max: 3 }),
        maxUnavailable: fc.record({ type: fc.constant(0), intVal: fc.integer({ min: 1, max: 3 }) }),
      }),
    }),
  ),
  persistentVolumeClaimRetentionPolicy: fc.record({
    whenDeleted: fc.constantFrom('Retain', 'Delete'),
    whenScaled: fc.constantFrom('Retain', 'Delete'),
  }),
});
const happening = fc.oneof<fc.Arbitrary<Happening>[]>(
  fc.record({ kind: fc.constant('template' as const), revision: fc.constantFrom(...revisions) }),
  fc.record({ kind: fc.constant('spec' as const), spec: fc.record({ replicas: fc.integer({ min: 0, max: 5 }) }) }),
  fc.record({ kind: fc.constant('spec' as const), spec }),
  fc.record({ kind: fc.constantFrom('lose' as const, 'fail' as const, 'unready' as const), ordinal }),
  ...Array.from({ length: 3 }, () => fc.record({ kind: fc.constant('run' as const), ordinal })),
  ...Array.from({ length: 4 }, () => fc.constant({ kind: 'look' as const })),
);

it('keeps its bounds in every state, and comes to what is wanted whatever was broken before', () => {
  const property = fc.property(
    spec,
    fc.constantFrom(...revisions),
    fc.array(happening, { maxLength: 60 }),
    fc.constantFrom(undefined, { partition: 0 }),
    (first, template, events, rollingUpdate) => {
      const world = new World(first, template);
      for (const event of events) {
        if (event.kind !== 'look') world.happen(event);
        else {
          const view = world.view();
          expect(findWrong(view, world.look())).toEqual([]);
        }
      }
      // In the end the template is one that works.
      world.happen({ kind: 'template', revision: 'good3' });
      world.happen({
        kind: 'spec',
        spec: { updateStrategy: { type: 'RollingUpdate', ...(rollingUpdate && { rollingUpdate }) } },
      });
      let quiet = 0;
      for (let turn = 0; quiet < 6 && turn < 600; turn++) {
        const view = world.view();
        const plan = world.look();
        expect(findWrong(view, plan)).toEqual([]);
        // Slower than the controller looks.
        if (turn % 3 === 2) for (const each of [...world.pods.keys()]) world.run(each);
        quiet = plan.make.length + plan.delete.length + plan.owners.length === 0 ? quiet + 1 : 0;
      }
      const { start, end } = wishesOf(statefulSetOf(world.spec));
      const wanted = Array.from({ length: end - start }, (_, nth) => `${start + nth} good3`);
      const found = [...world.pods].toSorted(([a], [b]) => a - b).map(([each, pod]) => `${each} ${revisionOf(pod)}`);
      expect(found).toEqual(wanted);
      expect([...world.pods.values()].every(isRunningAndReady)).toBe(true);
      const count = end - start;
      expect(world.status).toMatchObject({
        currentRevision: 'good3',
        readyReplicas: count,
        updatedReplicas: count,
        currentReplicas: count,
      });
    },
  );
  fc.assert(property, { numRuns: 1_500 });
});
