import { isNotFound } from '../../api/errors/index.ts';
import type { ControllerRevision, DaemonSet, DaemonSetStatus, Node, Pod } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import { type Informer, type ResourceClient, type ResourceWrites, referenceTo } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerContext, ControllerDefinition } from '../definition.ts';
import { nextAvailableInMs } from '../owned-pods/availability.ts';
import { OwnedPods } from '../owned-pods/owned-pods.ts';
import { namespaceIndexers, type Owning, ownedIndexers, ownersOf, podChanges } from '../owned-pods/pod-index.ts';
import type { PodOwner } from '../owned-pods/pod-writer.ts';
import { ReplacementBackoff } from '../owned-pods/replacement-backoff.ts';
import { nameOfRevision } from '../revisions/history.ts';
import { Revisions } from '../revisions/revisions.ts';
import { rule, writeStatus } from '../rules.ts';
import { type DaemonPlan, type DaemonView, decidePods } from './decide.ts';
import { decideUpdate } from './decide-update.ts';
import { daemonSetKind, newPod, targetNode } from './new-pod.ts';
import { nodeChanges } from './node-changes.ts';
import { computeStatus } from './status.ts';

const unshownRetryMs = 100;
/** Kubernetes' figure. */
const longestReplacementMs = 15 * 60_000;
/** Of a subdomain. */
const longestName = 253;

export interface DaemonSetControllerOptions {
  readonly context: ControllerContext;
  /** With `namespaceIndexers`. */
  readonly sets: Informer<DaemonSet>;
  readonly nodes: Informer<Node>;
  /** With `ownedIndexers`. */
  readonly pods: Informer<Pod>;
  /** With `ownedIndexers`. */
  readonly revisions: Informer<ControllerRevision>;
  readonly client: Pick<ResourceClient<DaemonSet>, 'get'>;
  readonly writes: Pick<ResourceWrites<DaemonSet>, 'updateStatus'>;
}

/** One look at a DaemonSet. */
interface Look {
  readonly set: DaemonSet;
  readonly owner: PodOwner;
  readonly signal: AbortSignal;
}

/** Keeps a pod of each DaemonSet on every node that it is for. */
export class DaemonSetController implements Controller {
  readonly name = 'daemonset';
  readonly sources: readonly Source[];
  readonly #options: DaemonSetControllerOptions;
  readonly #owned: OwnedPods<DaemonSet>;
  readonly #revisions: Revisions<DaemonSet>;
  readonly #backoff: ReplacementBackoff;

  constructor(options: DaemonSetControllerOptions) {
    const { sets, nodes, pods, revisions, client, context } = options;
    this.#options = options;
    const owning: Owning<DaemonSet> = { kind: daemonSetKind, lister: sets.lister, selectorOf: ({ spec }) => spec?.selector };
    this.#owned = new OwnedPods({ ...context, owning, pods, owners: client, slotOf: (pod) => targetNode(pod) ?? '' });
    this.#revisions = new Revisions<DaemonSet>({
      kind: daemonSetKind,
      hashLabel: workloadLabels.controllerRevisionHash,
      longestName,
      informer: revisions,
      reader: context.client.controllerRevisions,
      writes: context.writer.resource('ControllerRevision'),
      owners: client,
      note: (key, informer, written) => this.#owned.noteOwner(key, informer, written),
      clock: context.clock,
    });
    this.#backoff = new ReplacementBackoff({ now: () => context.clock.now(), maxMs: longestReplacementMs });
    this.sources = [
      changesOf(sets, (set) => [objectKey(set)]),
      podChanges(pods, owning),
      nodeChanges(nodes, () => sets.lister.list()),
      changesOf(revisions, (revision) => ownersOf(owning, revision)),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const set = this.#options.sets.lister.get(key);
    if (!set) {
      this.#owned.forget(key);
      this.#revisions.forget(key);
      return undefined;
    }
    // Its revisions and pods go in any order, so that nothing true can be said of it any more.
    if (set.metadata?.deletionTimestamp) return undefined;
    const owner: PodOwner = { key, uid: set.metadata?.uid ?? '', reference: referenceTo('DaemonSet', set) };
    const looked = await this.#owned.look(set, owner, signal);
    return 'again' in looked ? looked.again : this.#act({ set, owner, signal }, looked.owned);
  }

  async #act(look: Look, pods: readonly Pod[]): Promise<Again | undefined> {
    const { set, signal } = look;
    const looked = await this.#revisions.look(set, signal);
    if (looked.is === 'taken')
      await this.#writeStatus(look, { ...set.status, collisionCount: (set.status?.collisionCount ?? 0) + 1 });
    if (looked.is !== 'known') return { afterMs: unshownRetryMs };
    const { revisions, update } = looked;
    const view = this.#viewOf(set, pods, hashOf(update));
    const plan = decide(view);
    const isActing = plan.create.length + plan.delete.length > 0;
    const failure = await this.#carryOut(look, plan, view.hash);
    // What was just made or deleted is counted once it shows, which is a moment later.
    if (!isActing || failure || (set.status?.observedGeneration ?? 0) < (set.metadata?.generation ?? 0)) {
      const status = computeStatus(view);
      if (status) await this.#writeStatus(look, status);
    }
    if (failure) throw failure.error;
    const live = new Set([
      hashOf(update),
      ...pods.map(({ metadata }) => metadata?.labels?.[workloadLabels.controllerRevisionHash]),
    ]);
    await this.#revisions.truncate(set, revisions, (each) => live.has(hashOf(each)), signal);
    const inMs = nextAvailableInMs(pods, set.spec?.minReadySeconds ?? 0, view.now);
    const times = [inMs, plan.againInMs].filter((ms) => ms !== undefined);
    return times.length > 0 ? { afterMs: Math.min(...times) } : undefined;
  }

  #viewOf(set: DaemonSet, pods: readonly Pod[], hash: string): DaemonView {
    const { nodes, context } = this.#options;
    const replaceableInMs = (node: string) => this.#backoff.waitMs(placeOf(set, node));
    return { set, hash, pods, nodes: nodes.lister.list(), replaceableInMs, now: context.clock.now() };
  }

  async #carryOut(
    { set, owner, signal }: Look,
    plan: DaemonPlan,
    hash: string,
  ): Promise<{ readonly error: unknown } | undefined> {
    const { writer } = this.#owned;
    this.#tellEnded(owner, plan);
    const pods = plan.create.map((node) => newPod(set, node, hash));
    const { failure } = await writer.createAll(owner, pods, signal);
    try {
      await writer.deleteAll(owner, plan.delete, signal);
    } catch (error) {
      return failure ?? { error };
    }
    for (const { pod, node } of plan.ended) if (hasFailed(pod)) this.#backoff.note(placeOf(set, node));
    return failure;
  }

  #tellEnded({ reference }: PodOwner, { ended }: DaemonPlan): void {
    const { events } = this.#options.context;
    for (const { pod, node } of ended) {
      const where = `daemon pod ${objectKey(pod)} on node ${node}`;
      if (hasFailed(pod)) events.event(reference, 'Warning', 'FailedDaemonPod', `Found failed ${where}, will try to kill it`);
      else events.event(reference, 'Normal', 'SucceededDaemonPod', `Found succeeded ${where}, will try to delete it`);
    }
  }

  async #writeStatus({ set, owner, signal }: Look, status: DaemonSetStatus): Promise<void> {
    const { writes, sets } = this.#options;
    try {
      this.#owned.noteOwner(owner.key, sets, await writes.updateStatus({ ...set, status }, {}, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Nodes get what they lack first; an update goes on when every node has it. */
function decide(view: DaemonView): DaemonPlan {
  const plan = decidePods(view);
  if (plan.create.length + plan.delete.length > 0) return plan;
  return { ...decideUpdate(view), againInMs: plan.againInMs };
}

const hasFailed = ({ status }: Pod): boolean => status?.phase === 'Failed';
const placeOf = ({ metadata }: DaemonSet, node: string): string => `${metadata?.uid}/${metadata?.generation}/${node}`;
const hashOf = (revision: ControllerRevision): string =>
  revision.metadata?.labels?.[workloadLabels.controllerRevisionHash] ?? nameOfRevision(revision);

export const daemonSet: ControllerDefinition = {
  name: 'daemonset',
  component: 'daemonset-controller',
  rules: [
    rule(['create'], '', 'pods'),
    rule(['create', 'update'], 'apps', 'controllerrevisions'),
    writeStatus('apps', 'daemonsets'),
  ],
  watches: {
    DaemonSet: { whole: true, indexers: namespaceIndexers },
    Node: { whole: true },
    Pod: { indexers: ownedIndexers },
    ControllerRevision: { whole: true, indexers: ownedIndexers },
  },
  create: (context) =>
    new DaemonSetController({
      context,
      sets: context.informer('DaemonSet'),
      nodes: context.informer('Node'),
      pods: context.informer('Pod'),
      revisions: context.informer('ControllerRevision'),
      client: context.client.daemonSets,
      writes: context.writer.resource('DaemonSet'),
    }),
};
