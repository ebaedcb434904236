import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DaemonSetSpec, Node, Pod } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { daemonPod, daemonSetOf, daemonViewOf, nodeNamed, now } from '../../test/builders/daemon-set.ts';
import {
  boundsOf,
  type DaemonPlan,
  type DaemonView,
  decidePods,
  isLeaving,
  isServing,
  isUpdated,
  placesOf,
  surges,
} from './decide.ts';
import { decideUpdate } from './decide-update.ts';
import { eligibilityOf } from './eligibility.ts';
import { targetNode } from './new-pod.ts';
import { computeStatus } from './status.ts';

// Nodes that come and go, and pods that live and die by themselves. Pods of the hash "bad" never become ready.

const names = ['n1', 'n2', 'n3', 'n4'];
const taints = { none: [], keeps: [{ key: 'x', effect: 'NoSchedule' }], drives: [{ key: 'x', effect: 'NoExecute' }] };

type Happening =
  | { readonly kind: 'template'; readonly hash: string }
  | { readonly kind: 'bounds'; readonly maxUnavailable: number; readonly maxSurge: number }
  | { readonly kind: 'strategy'; readonly type: string }
  | { readonly kind: 'node'; readonly name: string; readonly taint: keyof typeof taints | 'gone' }
  | { readonly kind: 'lose' | 'fail' | 'unready' | 'run'; readonly nth: number }
  | { readonly kind: 'look' };

const rolling = (maxUnavailable: number, maxSurge: number): DaemonSetSpec => ({
  updateStrategy: {
    type: 'RollingUpdate',
    rollingUpdate: { maxUnavailable: { type: 0, intVal: maxUnavailable }, maxSurge: { type: 0, intVal: maxSurge } },
  },
});

class World {
  readonly nodes = new Map<string, Node>(names.map((name) => [name, nodeNamed(name)]));
  readonly pods = new Map<string, Pod>();
  spec: DaemonSetSpec = rolling(1, 0);
  hash = 'good1';
  #made = 0;

  view(): DaemonView {
    const of = { set: daemonSetOf({ spec: this.spec }), hash: this.hash };
    return daemonViewOf({ ...of, nodes: [...this.nodes.values()], pods: [...this.pods.values()] });
  }

  look(): DaemonPlan {
    const view = this.view();
    const pods = decidePods(view);
    const plan = pods.create.length + pods.delete.length > 0 ? pods : decideUpdate(view);
    for (const node of plan.create) {
      const name = `p${this.#made++}`;
      this.pods.set(name, daemonPod(name, node, { hash: this.hash, isWaiting: true, age: 1_000_000 - this.#made }));
    }
    for (const { metadata } of plan.delete) this.#leave(metadata!.name!);
    return plan;
  }

  happen(event: Happening): void {
    if (event.kind === 'template') this.hash = event.hash;
    if (event.kind === 'bounds') this.spec = rolling(event.maxUnavailable, event.maxSurge);
    if (event.kind === 'strategy') this.spec = { updateStrategy: { ...this.spec.updateStrategy, type: event.type } };
    if (event.kind === 'node' && event.taint === 'gone') this.#removeNode(event.name);
    else if (event.kind === 'node') this.nodes.set(event.name, nodeNamed(event.name, { taints: taints[event.taint as 'none'] }));
    const pod = 'nth' in event ? [...this.pods.values()][event.nth % Math.max(1, this.pods.size)] : undefined;
    if (!pod) return;
    if (event.kind === 'lose') this.#leave(pod.metadata!.name!);
    if (event.kind === 'run') this.run(pod);
    if (event.kind === 'fail') this.#set(pod, { phase: 'Failed' });
    if (event.kind === 'unready' && pod.status?.phase === 'Running') this.#set(pod, {});
  }

  /** The pod goes on: it is bound and becomes ready, or is gone. */
  run(pod: Pod): void {
    const node = targetNode(pod)!;
    if (isLeaving(pod)) this.pods.delete(pod.metadata!.name!);
    else if (isFinished(pod) || !this.nodes.has(node)) return;
    else this.#set(pod, pod.metadata?.labels?.['controller-revision-hash'] === 'bad' ? {} : { readyFor: 60 });
  }

  #set(pod: Pod, parts: object): void {
    const { name, labels, creationTimestamp } = pod.metadata!;
    const isGone = isLeaving(pod);
    const next = daemonPod(name!, targetNode(pod)!, { hash: labels!['controller-revision-hash']!, isLeaving: isGone, ...parts });
    this.pods.set(name!, { ...next, metadata: { ...next.metadata, creationTimestamp: creationTimestamp! } });
  }

  #leave(name: string): void {
    const pod = this.pods.get(name)!;
    this.pods.set(name, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: { seconds: now / 1000 } } });
  }

  /** The pods that were on it are collected. */
  #removeNode(name: string): void {
    this.nodes.delete(name);
    for (const [pod, { spec }] of this.pods) if (spec?.nodeName === name) this.pods.delete(pod);
  }
}

/** What a plan must never do, in words. */
function findWrong(view: DaemonView, plan: DaemonPlan): string[] {
  const { places } = placesOf(view);
  const wrong: string[] = [];
  const bounds = boundsOf(view.set, places.filter(({ eligibility }) => eligibility === 'run').length);
  const serving = (pods: readonly Pod[]) => pods.filter((pod) => !isLeaving(pod) && isServing(pod, view));
  const isOldServing = (pod: Pod) => !isUpdated(pod, view);
  let [unavailable, lost, beside] = [0, 0, 0];
  for (const { node, eligibility, pods } of places) {
    const made = plan.create.filter((each) => each === node).length;
    const staying = pods.filter((pod) => !isLeaving(pod));
    if (made > 1) wrong.push(`makes ${made} pods on ${node}`);
    if (made > 0 && eligibility !== 'run') wrong.push(`makes a pod on ${node}, where none is to be`);
    if (made > 0 && !surges(view.set) && pods.length > 0) wrong.push(`makes a pod on ${node} beside another`);
    if (made > 0 && staying.some((pod) => isUpdated(pod, view))) wrong.push(`makes a second new pod on ${node}`);
    if (eligibility !== 'run') continue;
    const left = serving(pods.filter((pod) => !plan.delete.includes(pod)));
    if (serving(pods).length === 0) unavailable++;
    else if (left.length === 0) lost++;
    if (
      staying.length + made > 1 &&
      serving(pods).some(isOldServing) &&
      staying.every((pod) => !isUpdated(pod, view) || !isServing(pod, view))
    )
      beside++;
  }
  if (lost > 0 && surges(view.set)) wrong.push('loses a node with a surge');
  if (lost > 0 && unavailable + lost > bounds.maxUnavailable) wrong.push('makes too many unavailable');
  if (plan.create.length > 0 && surges(view.set) && beside > bounds.maxSurge + unavailable) wrong.push('surges too far');
  if (plan.delete.some(isLeaving)) wrong.push('deletes a pod twice');
  return wrong;
}

const nth = fc.integer({ min: 0, max: 9 });
const bounds = fc.oneof(
  fc.record({ kind: fc.constant('bounds' as const), maxUnavailable: fc.integer({ min: 1, max: 3 }), maxSurge: fc.constant(0) }),
  fc.record({ kind: fc.constant('bounds' as const), maxUnavailable: fc.constant(0), maxSurge: fc.integer({ min: 1, max: 3 }) }),
);
const happening = fc.oneof<fc.Arbitrary<Happening>[]>(
  fc.record({ kind: fc.constant('template' as const), hash: fc.constantFrom('good1', 'good2', 'bad') }),
  bounds,
  fc.record({ kind: fc.constant('strategy' as const), type: fc.constantFrom('RollingUpdate', 'OnDelete') }),
  fc.record({
    kind: fc.constant('node' as const),
    name: fc.constantFrom(...names),
    taint: fc.constantFrom('none' as const, 'none' as const, 'keeps' as const, 'drives' as const, 'gone' as const),
  }),
  fc.record({ kind: fc.constantFrom('lose' as const, 'fail' as const, 'unready' as const), nth }),
  ...Array.from({ length: 4 }, () => fc.record({ kind: fc.constant('run' as const), nth })),
  ...Array.from({ length: 4 }, () => fc.constant({ kind: 'look' as const })),
);

it('keeps its bounds in every state, and comes to one new pod on each node that is to have one', () => {
  const property = fc.property(fc.array(happening, { maxLength: 60 }), bounds, (events, last) => {
    const world = new World();
    for (const event of events) {
      if (event.kind !== 'look') world.happen(event);
      else {
        const view = world.view();
        expect(findWrong(view, world.look())).toEqual([]);
      }
    }
    // In the end the template is one that works.
    world.happen({ kind: 'template', hash: 'good3' });
    world.happen(last);
    let quiet = 0;
    for (let turn = 0; quiet < 3 && turn < 100; turn++) {
      const view = world.view();
      const plan = world.look();
      expect(findWrong(view, plan)).toEqual([]);
      for (const pod of [...world.pods.values()]) world.run(pod);
      quiet = plan.create.length + plan.delete.length === 0 ? quiet + 1 : 0;
    }
    expect(quiet).toBe(3);
    const view = world.view();
    const judge = eligibilityOf(view.set);
    const wanted = [...world.nodes.values()].filter((node) => judge(node) === 'run').map(({ metadata }) => metadata!.name!);
    const onWanted = [...world.pods.values()].filter((pod) => wanted.includes(targetNode(pod)!));
    expect(onWanted.map(targetNode).toSorted()).toEqual(wanted.toSorted());
    expect(onWanted.every((pod) => isUpdated(pod, view) && isPodReady(pod))).toBe(true);
    const count = wanted.length;
    const numbers = {
      desiredNumberScheduled: count,
      currentNumberScheduled: count,
      updatedNumberScheduled: count,
      numberUnavailable: 0,
    };
    expect(computeStatus(view)).toMatchObject(numbers);
  });
  fc.assert(property, { numRuns: 1_500 });
});
