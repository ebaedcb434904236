import { asApiError, isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { ObjectReference, OwnerReference, PersistentVolumeClaim } from '../../api/generated/types.ts';
import type { EventRecorder, ResourceWrites } from '../../client/index.ts';
import type { PodOwner } from '../owned-pods/pod-writer.ts';

export interface ClaimWriterOptions {
  readonly claims: Pick<ResourceWrites<PersistentVolumeClaim>, 'create' | 'patch'>;
  readonly events: Pick<EventRecorder, 'event'>;
  /** Waits, before the key is decided on again, until the claim's informer shows what was written. */
  readonly note: (key: string, written: PersistentVolumeClaim) => void;
}

/** The writes of the claims that StatefulSets make. */
export class ClaimWriter {
  readonly #options: ClaimWriterOptions;

  constructor(options: ClaimWriterOptions) {
    this.#options = options;
  }

  /** Creates a claim for a pod. One that is there already is the one: its name says whose it is. */
  async create(owner: PodOwner, claim: PersistentVolumeClaim, pod: string, signal: AbortSignal): Promise<void> {
    const { claims, note } = this.#options;
    const name = claim.metadata?.name ?? '';
    const inSet = `Pod ${pod} in StatefulSet ${owner.reference.name}`;
    try {
      note(owner.key, await claims.create(claim, {}, { signal }));
      this.#tell(owner.reference, 'Normal', 'SuccessfulCreate', `create Claim ${name} ${inSet} success`);
    } catch (error) {
      if (isAlreadyExists(error)) return;
      const why = asApiError(error)?.message ?? String(error);
      if (!signal.aborted)
        this.#tell(owner.reference, 'Warning', 'FailedCreate', `create Claim ${name} for ${inSet} failed error: ${why}`);
      throw error;
    }
  }

  /** Writes what a claim goes with. One that is gone, or has changed meanwhile, is looked at again. */
  async own(
    owner: PodOwner,
    { metadata }: PersistentVolumeClaim,
    ownerReferences: readonly OwnerReference[],
    signal: AbortSignal,
  ): Promise<'written' | 'changed'> {
    const { namespace, name = '', uid, resourceVersion } = metadata ?? {};
    const patch = { metadata: { uid, resourceVersion, ownerReferences } };
    try {
      this.#options.note(owner.key, await this.#options.claims.patch({ namespace, name }, patch, {}, { signal }));
      return 'written';
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
      return 'changed';
    }
  }

  /** Another object controls a claim that should go with the set. */
  tellConflict({ reference }: PodOwner, { metadata }: PersistentVolumeClaim): void {
    const message = `PersistentVolumeClaim ${metadata?.name} has a conflicting OwnerReference that acts as a managing controller, the retention policy is ignored for this claim`;
    this.#tell(reference, 'Warning', 'ConflictingController', message);
  }

  #tell(about: ObjectReference, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.events.event(about, type, reason, message);
  }
}
