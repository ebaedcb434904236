import { isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import type { ControllerRevision, PersistentVolumeClaim, Pod, StatefulSet } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { newPod, podName, statefulSetKind } from '../../api/kinds/stateful-set/new-pod.ts';
import { objectKey } from '../../api/meta/key.ts';
import { workloadLabels } from '../../api/meta/workload-names.ts';
import { type Informer, type ResourceClient, type ResourceWrites, referenceTo } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerContext, ControllerDefinition } from '../definition.ts';
import { nextAvailableInMs } from '../owned-pods/availability.ts';
import { OwnedPods } from '../owned-pods/owned-pods.ts';
import { namespaceIndexers, type Owning, ownedIndexers, ownersOf, podChanges } from '../owned-pods/pod-index.ts';
import type { PodOwner, PodWording } from '../owned-pods/pod-writer.ts';
import { ReplacementBackoff } from '../owned-pods/replacement-backoff.ts';
import { slowStart } from '../owned-pods/slow-start.ts';
import { hasBeenReady, nameOfRevision } from '../revisions/history.ts';
import { templateOfRevision } from '../revisions/revision-data.ts';
import { Revisions } from '../revisions/revisions.ts';
import { rule, writeStatus } from '../rules.ts';
import { ClaimWriter } from './claim-writer.ts';
import { decideReplicas, isActing, type NewReplica, type SetPlan, type SetView } from './decide.ts';
import { isOfRevision, isRunningAndReady, ordinalOf, revisionOf } from './replicas.ts';
import { computeStatus } from './status.ts';

const unshownRetryMs = 100;
/** When a name is taken by a pod that is another's, and its end was missed. */
const takenRetryMs = 10_000;
const longestReplacementMs = 60_000;
/** A revision's name is the value of a label. */
const longestLabel = 63;

const wording: PodWording = {
  done: (verb, pod, set) => `${verb} Pod ${pod} in StatefulSet ${set.name} successful`,
  failed: (verb, error, pod, set) => `${verb} Pod ${pod} in StatefulSet ${set.name} failed error: ${error}`,
};

export interface StatefulSetControllerOptions {
  readonly context: ControllerContext;
  /** With `namespaceIndexers`. */
  readonly sets: Informer<StatefulSet>;
  /** With `ownedIndexers`. */
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  /** With `ownedIndexers`. */
  readonly revisions: Informer<ControllerRevision>;
  readonly client: Pick<ResourceClient<StatefulSet>, 'get'>;
  readonly writes: Pick<ResourceWrites<StatefulSet>, 'updateStatus'>;
}

/** One look at a StatefulSet. */
interface Look {
  readonly set: StatefulSet;
  readonly owner: PodOwner;
  readonly signal: AbortSignal;
}

/** What came of a plan: why it was not carried out whole, and when to look again at a name that is taken. */
interface Outcome {
  readonly failure?: { readonly error: unknown } | undefined;
  readonly againInMs?: number | undefined;
}

/** Keeps the pods of StatefulSets: each has a name, a place in the order, and claims of its own. */
export class StatefulSetController implements Controller {
  readonly name = 'statefulset';
  readonly workers = 16;
  readonly sources: readonly Source[];
  readonly #options: StatefulSetControllerOptions;
  readonly #owned: OwnedPods<StatefulSet>;
  readonly #revisions: Revisions<StatefulSet>;
  readonly #claims: ClaimWriter;
  readonly #backoff: ReplacementBackoff;

  constructor(options: StatefulSetControllerOptions) {
    const { sets, pods, claims, revisions, client, context } = options;
    const { writer, events } = context;
    this.#options = options;
    const owning: Owning<StatefulSet> = {
      kind: statefulSetKind,
      lister: sets.lister,
      selectorOf: ({ spec }) => spec?.selector,
      mayOwn: (set, pod) => ordinalOf(set, pod) !== undefined,
    };
    this.#owned = new OwnedPods({ ...context, owning, pods, owners: client, wording });
    this.#revisions = new Revisions<StatefulSet>({
      kind: statefulSetKind,
      hashLabel: workloadLabels.revisionHash,
      longestName: longestLabel,
      informer: revisions,
      reader: context.client.controllerRevisions,
      writes: writer.resource('ControllerRevision'),
      owners: client,
      note: (key, informer, written) => this.#owned.noteOwner(key, informer, written),
      clock: context.clock,
    });
    this.#claims = new ClaimWriter({
      claims: writer.resource('PersistentVolumeClaim'),
      events,
      note: (key, written) => this.#owned.noteOwner(key, claims, written),
    });
    this.#backoff = new ReplacementBackoff({ now: () => context.clock.now(), maxMs: longestReplacementMs });
    const { mayOwn: _, ...owningRevisions } = owning;
    this.sources = [
      changesOf(sets, (set) => [objectKey(set)]),
      podChanges(pods, owning),
      // Its name is free again when a pod of another owner is gone.
      changesOf(pods, (pod) => this.#named(pod), { matters: () => false }),
      changesOf(claims, (claim) => this.#claiming(claim), { matters: isNewsToSets }),
      changesOf(revisions, (revision) => ownersOf(owningRevisions, revision)),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const set = this.#options.sets.lister.get(key);
    if (!set) {
      this.#owned.forget(key);
      this.#revisions.forget(key);
      return undefined;
    }
    const owner: PodOwner = { key, uid: set.metadata?.uid ?? '', reference: referenceTo('StatefulSet', set) };
    const looked = await this.#owned.look(set, owner, signal);
    if ('again' in looked) return looked.again;
    const look = { set, owner, signal };
    return set.metadata?.deletionTimestamp ? this.#reportLeaving(look, looked.owned) : this.#act(look, looked.owned);
  }

  async #act(look: Look, pods: readonly Pod[]): Promise<Again | undefined> {
    const { set, signal } = look;
    const looked = await this.#revisions.look(set, signal);
    if (looked.is === 'taken') await this.#countCollision(look);
    if (looked.is !== 'known') return { afterMs: unshownRetryMs };
    const { revisions, update } = looked;
    const readable = revisions.filter((each) => templateOfRevision(each) !== undefined);
    const current = readable.find((each) => nameOfRevision(each) === set.status?.currentRevision) ?? update;
    const view = await this.#viewOf(look, pods, current, update);
    const plan = decideReplicas(view);
    const outcome = await this.#carryOut(look, plan);
    const isBehind = (set.status?.observedGeneration ?? 0) < (set.metadata?.generation ?? 0);
    // What was just made or deleted is counted once it shows, which is a moment later.
    if (!isActing(plan) || outcome.failure || outcome.againInMs !== undefined || isBehind)
      await this.#report(look, pods, nameOfRevision(current), nameOfRevision(update));
    if (outcome.failure) throw outcome.failure.error;
    const live = new Set([nameOfRevision(current), nameOfRevision(update), ...pods.map(revisionOf)]);
    await this.#revisions.truncate(set, revisions, (each) => live.has(nameOfRevision(each)), signal);
    return soonest(plan.againInMs, outcome.againInMs, nextAvailableInMs(pods, set.spec?.minReadySeconds ?? 0, view.now));
  }

  async #viewOf(
    { set, signal }: Look,
    pods: readonly Pod[],
    current: ControllerRevision,
    update: ControllerRevision,
  ): Promise<SetView> {
    const { claims, context } = this.#options;
    const worksNow = (revision: ControllerRevision) => pods.some((pod) => isOfRevision(pod, revision) && isRunningAndReady(pod));
    for (const revision of new Set([current, update]))
      if (!hasBeenReady(revision) && worksNow(revision)) await this.#revisions.markReady(set, revision, signal);
    return {
      set,
      pods,
      current,
      update,
      isCurrentProven: hasBeenReady(current) || worksNow(current),
      claim: (name) => claims.lister.get(`${set.metadata?.namespace}/${name}`),
      replaceableInMs: (pod) => this.#backoff.waitMs(placeOf(set, pod)),
      now: context.clock.now(),
    };
  }

  /** In this order: what claims go with, labels, new claims and pods, deletions. */
  async #carryOut(look: Look, plan: SetPlan): Promise<Outcome> {
    const { set, owner, signal } = look;
    const { writer } = this.#owned;
    let isTaken = false;
    try {
      for (const claim of plan.conflicts) this.#claims.tellConflict(owner, claim);
      for (const { pod, why } of plan.blocked) writer.tellFailure(owner, 'create', why, pod);
      // A pod is never deleted before its claims go with it.
      for (const { claim, references } of plan.owners)
        if ((await this.#claims.own(owner, claim, references, signal)) === 'changed') return { againInMs: unshownRetryMs };
      for (const { pod, labels } of plan.relabel) await this.#relabel(look, pod, labels);
      const { failure } = await slowStart(plan.make.length, async (at) => {
        if ((await this.#make(look, plan.make[at]!)) === 'taken') isTaken = true;
      });
      const ended = plan.delete.filter(isFinished);
      for (const pod of ended) this.#tellEnded(owner, pod);
      await writer.deleteAll(owner, plan.delete, signal);
      for (const pod of ended) this.#backoff.note(placeOf(set, pod));
      return { failure, againInMs: isTaken ? takenRetryMs : undefined };
    } catch (error) {
      return { failure: { error } };
    }
  }

  /** Makes the claims, and then the pod. 'taken': a pod that is not the set's has its name. */
  async #make({ set, owner, signal }: Look, { ordinal, claims, revision }: NewReplica): Promise<'made' | 'taken'> {
    const name = podName(set, ordinal);
    try {
      for (const claim of claims) await this.#claims.create(owner, claim, name, signal);
      if (!revision) return 'made';
      const template = templateOfRevision(revision) ?? {};
      await this.#owned.writer.create(owner, newPod(set, ordinal, { template, revision: nameOfRevision(revision) }), signal);
      return 'made';
    } catch (error) {
      if (!signal.aborted) this.#owned.writer.tellFailure(owner, 'create', error, name);
      if (isAlreadyExists(error)) return 'taken';
      throw error;
    }
  }

  /** An evicted pod may have ended well: its phase follows from its exit codes. */
  #tellEnded({ key, reference }: PodOwner, { metadata, status }: Pod): void {
    const { events } = this.#options.context;
    const message = (how: string) => `StatefulSet ${key} is recreating ${how} Pod ${metadata?.name}`;
    if (status?.phase === 'Failed') events.event(reference, 'Warning', 'RecreatingFailedPod', message('failed'));
    else events.event(reference, 'Normal', 'RecreatingTerminatedPod', message('terminated'));
  }

  async #relabel({ owner, signal }: Look, pod: Pod, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.#owned.writer.patchMetadata(owner, pod, { labels }, signal);
    const message = `update Pod ${pod.metadata?.name} in StatefulSet ${owner.reference.name} successful`;
    this.#options.context.events.event(owner.reference, 'Normal', 'SuccessfulUpdate', message);
  }

  /** Of a set that is being deleted only the numbers change. */
  async #reportLeaving(look: Look, pods: readonly Pod[]): Promise<undefined> {
    const { currentRevision = '', updateRevision = '' } = look.set.status ?? {};
    await this.#report(look, pods, currentRevision, updateRevision);
  }

  async #report(look: Look, pods: readonly Pod[], current: string, update: string): Promise<void> {
    const { set } = look;
    const status = computeStatus({ set, pods, current, update, now: this.#options.context.clock.now() });
    if (status) await this.#writeStatus(look, status);
  }

  async #countCollision(look: Look): Promise<void> {
    const { status } = look.set;
    await this.#writeStatus(look, { ...status, collisionCount: (status?.collisionCount ?? 0) + 1 });
  }

  async #writeStatus({ set, owner, signal }: Look, status: NonNullable<StatefulSet['status']>): Promise<void> {
    const { writes, sets } = this.#options;
    try {
      this.#owned.noteOwner(owner.key, sets, await writes.updateStatus({ ...set, status }, {}, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** The set that would give its pod this name. */
  #named({ metadata }: Pod): string[] {
    const { namespace = '', name = '' } = metadata ?? {};
    const key = `${namespace}/${name.replace(/-\d+$/, '')}`;
    return this.#options.sets.lister.get(key) ? [key] : [];
  }

  /** The sets that may have made this claim, by its name. */
  #claiming({ metadata }: PersistentVolumeClaim): string[] {
    const { namespace = '', name = '' } = metadata ?? {};
    return this.#options.sets.lister
      .byIndex('namespace', namespace)
      .filter((set) => set.spec?.volumeClaimTemplates?.length && name.includes(`-${set.metadata?.name}-`))
      .map(objectKey);
  }
}

const placeOf = ({ metadata }: StatefulSet, pod: Pod): string => `${metadata?.uid}/${pod.metadata?.name}`;

/** What a claim goes with, and whether it leaves. */
function isNewsToSets({ metadata: next }: PersistentVolumeClaim, { metadata: old }: PersistentVolumeClaim): boolean {
  const owners = (metadata: typeof next) => JSON.stringify(metadata?.ownerReferences ?? []);
  return next?.uid !== old?.uid || !next?.deletionTimestamp !== !old?.deletionTimestamp || owners(next) !== owners(old);
}

function soonest(...times: readonly (number | undefined)[]): Again | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length > 0 ? { afterMs: Math.min(...known) } : undefined;
}

export const statefulSet: ControllerDefinition = {
  name: 'statefulset',
  component: 'statefulset-controller',
  rules: [
    rule(['create'], '', 'pods'),
    rule(['create', 'update'], '', 'persistentvolumeclaims'),
    rule(['create', 'update'], 'apps', 'controllerrevisions'),
    writeStatus('apps', 'statefulsets'),
  ],
  watches: {
    StatefulSet: { whole: true, indexers: namespaceIndexers },
    Pod: { indexers: ownedIndexers },
    PersistentVolumeClaim: {},
    ControllerRevision: { whole: true, indexers: ownedIndexers },
  },
  create: (context) =>
    new StatefulSetController({
      context,
      sets: context.informer('StatefulSet'),
      pods: context.informer('Pod'),
      claims: context.informer('PersistentVolumeClaim'),
      revisions: context.informer('ControllerRevision'),
      client: context.client.statefulSets,
      writes: context.writer.resource('StatefulSet'),
    }),
};
