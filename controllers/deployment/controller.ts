import { isDeepStrictEqual } from 'node:util';
import { asApiError, isNotFound } from '../../api/errors/index.ts';
import type { Deployment, DeploymentCondition, ObjectReference, Pod, ReplicaSet } from '../../api/generated/types.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { objectKey } from '../../api/meta/key.ts';
import { controllerOf, controllerReference } from '../../api/meta/owner.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import { type Informer, type ResourceClient, type ResourceWrites, referenceTo } from '../../client/index.ts';
import { type Again, type Controller, changesOf, type Source } from '../controller.ts';
import type { ControllerContext, ControllerDefinition } from '../definition.ts';
import { decideClaims } from '../owned-pods/claims.ts';
import { OwnWrites } from '../owned-pods/own-writes.ts';
import { candidatesOf, controlledBy, namespaceIndexers, type Owning, ownedIndexers, ownersOf } from '../owned-pods/pod-index.ts';
import { rule, writeStatus } from '../rules.ts';
import { readTemplates } from '../template-digests.ts';
import { AutoRollback } from './auto-rollback.ts';
import { isComplete, reasons, withCondition, withPause } from './conditions.ts';
import { decideCleanup, decideRollout } from './decide-rollout.ts';
import { decideScale, isScaling, type Resize } from './decide-scale.ts';
import { computeStatus, deadlineInMs, isSameStatus } from './decide-status.ts';
import { newReplicaSet } from './new-set.ts';
import { annotationsOfCurrent, type Family, familyOf, revisionOf } from './revisions.ts';
import { SetWriter } from './set-writer.ts';
import { isRolling } from './sizes.ts';

const kind = { apiVersion: 'apps/v1', kind: 'Deployment' };
const unshownRetryMs = 100;

export interface DeploymentControllerOptions {
  readonly context: Pick<ControllerContext, 'client' | 'clock' | 'events'>;
  /** With `namespaceIndexers`. */
  readonly deployments: Informer<Deployment>;
  /** With `ownedIndexers` and `namespaceIndexers`. */
  readonly sets: Informer<ReplicaSet>;
  /** With `ownedIndexers`. */
  readonly pods: Informer<Pod>;
  readonly client: Pick<ResourceClient<Deployment>, 'get'>;
  readonly writes: Pick<ResourceWrites<Deployment>, 'updateStatus' | 'update'>;
  readonly setWrites: ResourceWrites<ReplicaSet>;
}

/** One look at a Deployment. */
interface Look {
  readonly deployment: Deployment;
  readonly about: ObjectReference;
  readonly family: Family;
  readonly signal: AbortSignal;
  /** The conditions with what this look has found out so far. */
  conditions: readonly DeploymentCondition[];
  collisionCount?: number;
}

/** Rolls Deployments out: makes ReplicaSets of their templates and sizes them; the ReplicaSets make the pods. */
export class DeploymentController implements Controller {
  readonly name = 'deployment';
  readonly workers = 16;
  readonly sources: readonly Source[];
  readonly #options: DeploymentControllerOptions;
  readonly #owning: Owning<Deployment>;
  readonly #writes = new OwnWrites();
  readonly #sets: SetWriter;
  readonly #rollback: AutoRollback;

  constructor(options: DeploymentControllerOptions) {
    const { deployments, sets, pods, setWrites, context } = options;
    this.#options = options;
    this.#owning = { kind, lister: deployments.lister, selectorOf: ({ spec }) => spec?.selector };
    const { events, client } = context;
    this.#sets = new SetWriter({ sets: setWrites, reader: client.replicaSets, informer: sets, writes: this.#writes, events });
    this.#rollback = new AutoRollback({ pods, logs: client.pods, events });
    this.sources = [
      changesOf(deployments, (deployment) => [objectKey(deployment)]),
      changesOf(sets, (set) => ownersOf(this.#owning, set)),
      // Recreate waits for the last pod to be gone.
      changesOf(pods, (pod) => this.#awaiting(pod), { matters: (next) => isFinished(next) }),
    ];
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Again | undefined> {
    const { deployments, sets } = this.#options;
    const deployment = deployments.lister.get(key);
    if (!deployment) {
      this.#writes.forget(key);
      return undefined;
    }
    if (!this.#writes.areShown(key)) return { afterMs: unshownRetryMs };
    const { owned, adopt, release } = decideClaims(deployment, deployment.spec?.selector, candidatesOf(sets.lister, deployment));
    if (adopt.length + release.length > 0) {
      await this.#claim(deployment, adopt, release, signal);
      return { afterMs: unshownRetryMs };
    }
    const conditions = withPause(deployment, deployment.status?.conditions ?? [], this.#now());
    const about = referenceTo('Deployment', deployment);
    await readTemplates(
      [deployment, ...owned].map(({ spec }) => spec?.template),
      signal,
    );
    const look: Look = { deployment, about, family: familyOf(deployment, owned), signal, conditions };
    return this.#act(look);
  }

  async #act(look: Look): Promise<Again | undefined> {
    const { deployment, family } = look;
    if (deployment.metadata?.deletionTimestamp) return this.#report(look, false);
    if (await this.#annotateCurrent(look)) return this.#report(look, true);
    if (deployment.spec?.paused || isScaling(deployment, family)) {
      await this.#resize(look, decideScale(deployment, family));
      if (deployment.spec?.paused) await this.#cleanUp(look);
      return this.#report(look, false);
    }
    const step = decideRollout({ deployment, family, hasOldPods: () => this.#hasPods(family.old) });
    if (step.do === 'create') await this.#create(look, step.replicas);
    if (step.do === 'resize') await this.#resize(look, step.sizes);
    const again = await this.#report(look, true);
    if (step.do === 'nothing' && isComplete({ deployment, next: deployment.status ?? {} })) await this.#cleanUp(look);
    return again;
  }

  #now(): number {
    return this.#options.context.clock.now();
  }

  async #claim(
    deployment: Deployment,
    adopt: readonly ReplicaSet[],
    release: readonly ReplicaSet[],
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name = '', uid } = deployment.metadata ?? {};
    for (const set of release) {
      const left = (set.metadata?.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
      await this.#sets.own(deployment, set, left, signal);
    }
    if (adopt.length === 0) return;
    const present = await this.#options.client.get({ namespace, name }, { signal });
    if (present.metadata?.uid !== uid || present.metadata?.deletionTimestamp) return;
    for (const set of adopt) {
      const references = [...(set.metadata?.ownerReferences ?? []), controllerReference(kind, deployment)];
      await this.#sets.own(deployment, set, references, signal);
    }
  }

  /** Writes the revision, and what is copied from the Deployment, to the present ReplicaSet; whether it had to. */
  async #annotateCurrent(look: Look): Promise<boolean> {
    const { deployment, signal } = look;
    const { current, old } = look.family;
    if (!current) return false;
    const annotations = annotationsOfCurrent(deployment, current, old);
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
    const isAnotherRevision =
      annotations[workloadAnnotations.revision] !== current.metadata?.annotations?.[workloadAnnotations.revision];
    const isAsItShouldBe =
      isDeepStrictEqual(annotations, { ...current.metadata?.annotations }) &&
      (current.spec?.minReadySeconds ?? 0) === minReadySeconds;
    if (isAsItShouldBe) return false;
    const metadata = { ...current.metadata, annotations };
    await this.#sets.update(deployment, { ...current, metadata, spec: { ...current.spec, minReadySeconds } }, signal);
    if (isAnotherRevision) this.#say(look, 'True', reasons.newSetFound, `Found new replica set "${current.metadata?.name}"`);
    return true;
  }

  async #create(look: Look, replicas: number): Promise<void> {
    const { deployment, family, about, signal } = look;
    const set = newReplicaSet(deployment, family.old, replicas);
    const name = set.metadata?.name;
    try {
      const outcome = await this.#sets.create(deployment, set, about, signal);
      if (outcome === 'taken') look.collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
      else this.#say(look, 'True', reasons.newSetCreated, `Created new replica set "${name}"`);
    } catch (error) {
      const message = `Failed to create new replica set "${name}": ${asApiError(error)?.message ?? String(error)}`;
      this.#say(look, 'False', reasons.createFailed, message);
      if (!signal.aborted) this.#options.context.events.event(about, 'Warning', reasons.createFailed, message);
      await this.#report(look, false);
      throw error;
    }
  }

  async #resize({ deployment, about, signal }: Look, sizes: readonly Resize[]): Promise<void> {
    for (const size of sizes) await this.#sets.resize(deployment, size, about, signal);
  }

  #cleanUp({ deployment, family, signal }: Look): Promise<void> {
    return this.#sets.deleteAll(deployment, decideCleanup(deployment, family.old), signal);
  }

  #say(look: Look, status: 'True' | 'False', reason: string, message: string): void {
    if (look.deployment.spec?.progressDeadlineSeconds === undefined) return;
    look.conditions = withCondition(look.conditions, { type: 'Progressing', status, reason, message }, this.#now());
  }

  /**
   * Writes the status, and the revision of the present ReplicaSet, where they are others. A rollback waits until they
   * show: it is a write of the version that says that the deadline has passed.
   */
  async #report(look: Look, judgesProgress: boolean): Promise<Again | undefined> {
    const { deployment, family, conditions, collisionCount, signal } = look;
    const now = this.#now();
    const status = computeStatus({ deployment, family, conditions, judgesProgress, collisionCount, now });
    const metadata = withRevision(deployment, family.current);
    if (metadata !== deployment.metadata || !isSameStatus(status, deployment)) {
      try {
        const written = await this.#options.writes.updateStatus({ ...deployment, metadata, status }, {}, { signal });
        this.#writes.note(objectKey(deployment), this.#options.deployments, written.metadata?.resourceVersion);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return undefined;
      }
    } else if (judgesProgress) await this.#rollBack(look, status.conditions ?? []);
    const inMs = deadlineInMs(deployment, status, now);
    return inMs === undefined ? undefined : { afterMs: inMs };
  }

  async #rollBack({ deployment, family, about, signal }: Look, conditions: readonly DeploymentCondition[]): Promise<void> {
    const next = await this.#rollback.decide({ deployment, family, conditions, about, signal });
    if (!next) return;
    const written = await this.#options.writes.update(next, {}, { signal });
    this.#writes.note(objectKey(deployment), this.#options.deployments, written.metadata?.resourceVersion);
  }

  #hasPods(sets: readonly ReplicaSet[]): boolean {
    const { lister } = this.#options.pods;
    return sets.some((set) => controlledBy(lister, set).some((pod) => !isFinished(pod)));
  }

  /** The Deployment that may wait for this pod to go. */
  #awaiting(pod: Pod): string[] {
    const namespace = pod.metadata?.namespace ?? '';
    const set = controllerOf(pod);
    const owner = set?.kind === 'ReplicaSet' ? this.#options.sets.lister.get(`${namespace}/${set.name}`) : undefined;
    const controller = owner && controllerOf(owner);
    if (controller?.kind !== kind.kind) return [];
    const key = `${namespace}/${controller.name}`;
    const deployment = this.#options.deployments.lister.get(key);
    return deployment && !isRolling(deployment) ? [key] : [];
  }
}

/** The Deployment's metadata with the revision of its present ReplicaSet; the same value where it stands there. */
function withRevision({ metadata }: Deployment, current: ReplicaSet | undefined): Deployment['metadata'] {
  const revision = current && revisionOf(current);
  const annotations = metadata?.annotations ?? {};
  if (!revision || annotations[workloadAnnotations.revision] === String(revision)) return metadata;
  return { ...metadata, annotations: { ...annotations, [workloadAnnotations.revision]: String(revision) } };
}

export const deployment: ControllerDefinition = {
  name: 'deployment',
  component: 'deployment-controller',
  rules: [
    rule(['create', 'update'], 'apps', 'replicasets'),
    // For automatic rollbacks, and for the last lines of a failed container in their events.
    rule(['update'], 'apps', 'deployments'),
    rule(['get'], '', 'pods/log'),
    writeStatus('apps', 'deployments'),
    writeStatus('apps', 'replicasets'),
  ],
  watches: {
    Deployment: { whole: true, indexers: namespaceIndexers },
    ReplicaSet: { whole: true, indexers: { ...ownedIndexers, ...namespaceIndexers } },
    Pod: { indexers: ownedIndexers },
  },
  create: (context) =>
    new DeploymentController({
      context,
      deployments: context.informer('Deployment'),
      sets: context.informer('ReplicaSet'),
      pods: context.informer('Pod'),
      client: context.client.deployments,
      writes: context.writer.resource('Deployment'),
      setWrites: context.writer.resource('ReplicaSet'),
    }),
};
