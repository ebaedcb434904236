import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { Deployment, ObjectReference, ReplicaSet } from '../../api/generated/types.ts';
import { templatesEqual } from '../../api/kinds/pod-template/equal.ts';
import { objectKey } from '../../api/meta/key.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { EventRecorder, ResourceClient, ResourceWrites } from '../../client/index.ts';
import type { OwnWrites, Showing } from '../owned-pods/own-writes.ts';
import type { Resize } from './decide-scale.ts';
import { sizeAnnotations } from './revisions.ts';
import { replicasOf } from './sizes.ts';

export interface SetWriterOptions {
  readonly sets: Pick<ResourceWrites<ReplicaSet>, 'create' | 'update' | 'patch' | 'delete'>;
  readonly reader: Pick<ResourceClient<ReplicaSet>, 'get'>;
  readonly informer: Showing;
  readonly writes: OwnWrites;
  readonly events: Pick<EventRecorder, 'event'>;
}

/** The writes of ReplicaSets that Deployments own; all of them are noted with the Deployment's key. */
export class SetWriter {
  readonly #options: SetWriterOptions;

  constructor(options: SetWriterOptions) {
    this.#options = options;
  }

  /** 'taken': another object has the name. */
  async create(deployment: Deployment, set: ReplicaSet, about: ObjectReference, signal: AbortSignal): Promise<'made' | 'taken'> {
    try {
      this.#note(deployment, await this.#options.sets.create(set, {}, { signal }));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return this.#find(deployment, set, signal);
    }
    const replicas = replicasOf(set);
    if (replicas > 0) this.#tell(about, `Scaled up replica set ${set.metadata?.name} from 0 to ${replicas}`);
    return 'made';
  }

  /** Whether the ReplicaSet that has the name is the one that was to be made: by an attempt that was not answered. */
  async #find(deployment: Deployment, { metadata, spec }: ReplicaSet, signal: AbortSignal): Promise<'made' | 'taken'> {
    const { namespace, name = '' } = metadata ?? {};
    const found = await this.#options.reader.get({ namespace, name }, { signal });
    const isOurs = controllerOf(found)?.uid === deployment.metadata?.uid && templatesEqual(found.spec?.template, spec?.template);
    if (!isOurs) return 'taken';
    this.#note(deployment, found);
    return 'made';
  }

  /** Sets the size, and notes in the ReplicaSet what the Deployment wants in all. */
  async resize(deployment: Deployment, { set, replicas }: Resize, about: ObjectReference, signal: AbortSignal): Promise<void> {
    const before = replicasOf(set);
    const annotations = { ...set.metadata?.annotations, ...sizeAnnotations(deployment) };
    const next = { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } };
    await this.update(deployment, next, signal);
    if (before === replicas) return;
    const how = replicas > before ? 'up' : 'down';
    this.#tell(about, `Scaled ${how} replica set ${set.metadata?.name} from ${before} to ${replicas}`);
  }

  async update(deployment: Deployment, set: ReplicaSet, signal: AbortSignal): Promise<void> {
    this.#note(deployment, await this.#options.sets.update(set, {}, { signal }));
  }

  /** Deletes ReplicaSets without pods. One that has changed meanwhile stays. */
  async deleteAll(deployment: Deployment, sets: readonly ReplicaSet[], signal: AbortSignal): Promise<void> {
    for (const { metadata } of sets) {
      const { namespace, name = '', uid, resourceVersion } = metadata ?? {};
      const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
      try {
        this.#note(deployment, await this.#options.sets.delete({ namespace, name }, { preconditions }, { signal }));
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }
  }

  /** Adopts or releases a ReplicaSet: writes its owners. */
  async own(deployment: Deployment, set: ReplicaSet, ownerReferences: readonly object[], signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = set.metadata ?? {};
    const patch = { metadata: { uid, resourceVersion, ownerReferences } };
    try {
      this.#note(deployment, await this.#options.sets.patch({ namespace, name }, patch, {}, { signal }));
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  #note(deployment: Deployment, written: ReplicaSet): void {
    const { writes, informer } = this.#options;
    writes.note(objectKey(deployment), informer, written.metadata?.resourceVersion);
  }

  #tell(about: ObjectReference, message: string): void {
    this.#options.events.event(about, 'Normal', 'ScalingReplicaSet', message);
  }
}
