import { isConflict, isNotFound } from '../../api/errors/index.ts';
import type { OwnerReference, Pod } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { controllerReference } from '../../api/meta/owner.ts';
import type { Informer, ResourceClient } from '../../client/index.ts';
import type { Again } from '../controller.ts';
import type { ControllerContext } from '../definition.ts';
import { decideClaims } from './claims.ts';
import { OwnWrites, type Showing } from './own-writes.ts';
import { Pace, type PaceOptions } from './pace.ts';
import { candidatesOf, type Owning } from './pod-index.ts';
import { type NewPod, type PodOwner, type PodWording, PodWriter } from './pod-writer.ts';

export interface OwnedPodsOptions<O extends ApiObject> extends Pick<ControllerContext, 'client' | 'writer' | 'events' | 'clock'> {
  readonly owning: Owning<O>;
  /** With `ownedIndexers`. */
  readonly pods: Informer<Pod>;
  /** Asked before a pod is adopted: the informer may not know yet that the owner is being deleted. */
  readonly owners: Pick<ResourceClient<O>, 'get'>;
  /** What a new pod is for (`PodWriterOptions.slotOf`); absent: all are for the same. */
  readonly slotOf?: (pod: NewPod) => string;
  /** What events say of the pods; absent: what those of most kinds say. */
  readonly wording?: PodWording;
  /** What the object may claim; absent: all pods that it controls, and those of its namespace that nothing controls. */
  readonly candidates?: (object: O) => Iterable<Pod>;
  /** Comes to a pod when it is adopted, and leaves it when it is released. */
  readonly finalizer?: string;
  readonly pace?: PaceOptions;
  readonly random?: (() => number) | undefined;
}

/** The pods of an owner; or when to look again, because they cannot be told yet. */
export type Looked = { readonly owned: readonly Pod[] } | { readonly again: Again };

interface Ownership {
  readonly ownerReferences: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** When an event is missed that would have woken the key. */
const unshownRetryMs = 100;

/** The pods that the objects of one kind own. One for each controller; it is asked about one key at a time. */
export class OwnedPods<O extends ApiObject> {
  readonly writer: PodWriter;
  readonly #options: OwnedPodsOptions<O>;
  readonly #writes = new OwnWrites();
  readonly #pace: Pace;

  constructor(options: OwnedPodsOptions<O>) {
    const { client, writer, pods, events, clock, wording, slotOf, random } = options;
    this.#options = options;
    this.#pace = new Pace(() => clock.now(), options.pace);
    const own = { pods: writer.resource('Pod'), reader: client.pods, informer: pods, writes: this.#writes };
    this.writer = new PodWriter({ ...own, events, clock, wording, slotOf, ...(random && { random }) });
  }

  /**
   * The owner's pods, those that it has just adopted left out: they come with the change that the adoption makes. Not
   * before everything is shown that was written for it.
   */
  async look(object: O, owner: PodOwner, signal: AbortSignal): Promise<Looked> {
    const { pods, owning, candidates: claimable = (each: O) => candidatesOf(pods.lister, each) } = this.#options;
    if (!this.#writes.areShown(owner.key)) return { again: { afterMs: unshownRetryMs } };
    const candidates = [...claimable(object)].filter((pod) => owning.mayOwn?.(object, pod) ?? true);
    const delay = this.#pace.delay(owner.key, candidates.length);
    if (delay) return { again: delay };
    const { owned, adopt, release } = decideClaims(object, owning.selectorOf(object), candidates);
    if (await this.writer.finishDeletions(owner, owned, signal)) return { again: { afterMs: unshownRetryMs } };
    if (adopt.length + release.length === 0) return { owned };
    if (release.length > 0) await this.#release(owner, release, signal);
    if (adopt.length > 0) await this.#adopt(object, owner, adopt, signal);
    return { again: { afterMs: unshownRetryMs } };
  }

  /** Waits, before the key is decided on again, for what was written of the owner itself or of its other objects. */
  noteOwner(key: string, informer: Showing, written: ApiObject): void {
    this.#writes.note(key, informer, written.metadata?.resourceVersion);
  }

  forget(key: string): void {
    this.#writes.forget(key);
    this.#pace.forget(key);
    this.writer.forget(key);
  }

  async #release(owner: PodOwner, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    for (const pod of pods) {
      const left = (pod.metadata?.ownerReferences ?? []).filter(({ uid }) => uid !== owner.uid);
      await this.#own(owner, pod, { ownerReferences: left, ...this.#finalizersOf(pod, false) }, signal);
    }
  }

  async #adopt(object: O, owner: PodOwner, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { owners, owning } = this.#options;
    const { namespace, name = '' } = object.metadata ?? {};
    const present = await owners.get({ namespace, name }, { signal });
    if (present.metadata?.uid !== owner.uid || present.metadata.deletionTimestamp) return;
    for (const pod of pods) {
      const references = [...(pod.metadata?.ownerReferences ?? []), controllerReference(owning.kind, object)];
      await this.#own(owner, pod, { ownerReferences: references, ...this.#finalizersOf(pod, true) }, signal);
    }
  }

  #finalizersOf({ metadata }: Pod, isOwned: boolean): Pick<Ownership, 'finalizers'> {
    const { finalizer } = this.#options;
    const { finalizers = [] } = metadata ?? {};
    if (finalizer === undefined || finalizers.includes(finalizer) === isOwned) return {};
    return { finalizers: isOwned ? [...finalizers, finalizer] : finalizers.filter((each) => each !== finalizer) };
  }

  /** A pod that is gone, or changed meanwhile, is looked at again. */
  async #own(owner: PodOwner, pod: Pod, metadata: Ownership, signal: AbortSignal): Promise<void> {
    try {
      await this.writer.patchMetadata(owner, pod, metadata, signal);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
