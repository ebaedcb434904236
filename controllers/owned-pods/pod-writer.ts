import { asApiError, isAlreadyExists, isNotFound, unavailable } from '../../api/errors/index.ts';
import type { ObjectReference, Pod } from '../../api/generated/types.ts';
import { generatedName } from '../../api/meta/names.ts';
import { controllerOf } from '../../api/meta/owner.ts';
import type { Clock, EventRecorder, ResourceClient, ResourceWrites } from '../../client/index.ts';
import type { OwnWrites, Showing } from './own-writes.ts';
import { removeFinalizer } from './remove-finalizer.ts';
import { type SlowStartResult, slowStart } from './slow-start.ts';
import { isOutcomeUnknown, untilAnswered } from './until-answered.ts';

export interface PodWriterOptions {
  /** Writes that travel together. */
  readonly pods: Pick<ResourceWrites<Pod>, 'create' | 'patch' | 'delete'>;
  readonly reader: Pick<ResourceClient<Pod>, 'get'>;
  /** Shows what was written. */
  readonly informer: Showing;
  readonly writes: OwnWrites;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly wording?: PodWording | undefined;
  /**
   * What a new pod is for, where pods of one owner are not for the same: the node of a DaemonSet's, the index of a
   * Job's. A name under which a pod may have been made is asked for again for the next pod of the same slot.
   */
  readonly slotOf?: ((pod: NewPod) => string) | undefined;
}

export type PodVerb = 'create' | 'delete';

/** What the events of a kind say of its pods. */
export interface PodWording {
  done(verb: PodVerb, pod: string, owner: ObjectReference): string;
  /** `pod` is absent where its name was drawn. */
  failed(verb: PodVerb, error: string, pod: string | undefined, owner: ObjectReference): string;
}

const usualWording: PodWording = {
  done: (verb, pod) => `${verb === 'create' ? 'Created' : 'Deleted'} pod: ${pod}`,
  failed: (verb, error) => `Error ${verb === 'create' ? 'creating' : 'deleting'}: ${error}`,
};

/** An owner, for writes of its pods: what waits for them, whose they are, and what events are about. */
export interface PodOwner {
  readonly key: string;
  readonly uid: string;
  readonly reference: ObjectReference;
}

/** A new pod, complete but for a name that is drawn: then `metadata.generateName` says how it begins. */
export type NewPod = Pod;

/** Names are drawn again when they are taken, so often; with 27^5 for each prefix more would not help. */
const nameAttempts = 8;

/**
 * Creates and deletes the pods of owners, such that none is ever made twice:
 * - It chooses the names. A create whose outcome is unknown is repeated under the same name until it is answered; one
 *   that finds its own pod there has been carried out. A refusal of the repetition says nothing of the first attempt:
 *   then the owner's next pod for the same slot is created under this name, and no new name is drawn.
 *   The same holds after every refusal.
 * - A deletion whose outcome is unknown stands: the pod counts as leaving, and is deleted again at the next look. So
 *   does one that found no pod, until the informer shows none.
 * - Everything written is noted with the owner's key, which is decided on again only when the informer shows it.
 * - The client carries the leader's term, so what arrives after another process leads is refused.
 */
export class PodWriter {
  readonly #options: PodWriterOptions;
  /** By the owner's key: names under which a pod may have been made, or was refused, with the pod's slot. */
  readonly #openNames = new Map<string, Map<string, string>>();
  /** By the owner's key: uids of pods that may have been deleted, and of those that were found gone. */
  readonly #doomed = new Map<string, Set<string>>();

  constructor(options: PodWriterOptions) {
    this.#options = options;
  }

  /** Creates pods in batches that grow; the first refusal ends it. Records an event for each pod, and for a refusal. */
  async createAll(owner: PodOwner, pods: readonly NewPod[], signal: AbortSignal): Promise<SlowStartResult> {
    const result = await slowStart(pods.length, (at) => this.create(owner, pods[at]!, signal));
    if (result.failure && !signal.aborted) this.tellFailure(owner, 'create', result.failure.error);
    return result;
  }

  /** Creates one pod. Throws what the server answers; ALREADY_EXISTS for a given name that another pod has. */
  async create(owner: PodOwner, pod: NewPod, signal: AbortSignal): Promise<void> {
    const { random = Math.random } = this.#options;
    const { name: given, generateName = '' } = pod.metadata ?? {};
    for (let attempt = 1; ; attempt++) {
      const open = given ? undefined : this.#takeOpenName(owner.key, this.#slotOf(pod));
      const name = given || open || generatedName(generateName, random);
      // A given name is the same one each time: what has it and is the owner's was made for it.
      const wasOpen = open !== undefined || Boolean(given);
      try {
        await this.#createNamed(owner, { ...pod, metadata: { ...pod.metadata, name } }, wasOpen, signal);
        this.#tellDone(owner, 'create', name);
        return;
      } catch (error) {
        if (given || !isAlreadyExists(error) || attempt >= nameAttempts) throw error;
      }
    }
  }

  async #createNamed(owner: PodOwner, pod: Pod, wasOpen: boolean, signal: AbortSignal): Promise<void> {
    const { pods, clock, random } = this.#options;
    const { namespace, name = '' } = pod.metadata ?? {};
    let isOpen = wasOpen;
    const attempt = async (): Promise<Pod | undefined> => {
      try {
        return await pods.create(pod, {}, { signal });
      } catch (error) {
        if (isOutcomeUnknown(error)) isOpen = true;
        if (!isOpen || !isAlreadyExists(error)) throw error;
        const found = await this.#find({ namespace, name }, signal);
        // Made by an attempt that was not answered, and deleted since.
        if (!found) return undefined;
        if (controllerOf(found)?.uid === owner.uid) return found;
        isOpen = false;
        throw error;
      }
    };
    const onFailure = (error: unknown) => this.tellFailure(owner, 'create', error, name);
    try {
      this.#note(owner, await untilAnswered(attempt, { clock, signal, random, onFailure }));
    } catch (error) {
      // A refusal is repeated in the same words, so events are counted up, and a status that quotes it does not change:
      // a status write would wake the owner at once, past its back-off.
      if (!isAlreadyExists(error))
        this.#openNames.set(owner.key, (this.#openNames.get(owner.key) ?? new Map()).set(name, this.#slotOf(pod)));
      throw error;
    }
  }

  /** The first in order, so that repeated refusals report the same name each time. */
  #takeOpenName(key: string, slot: string): string | undefined {
    const names = this.#openNames.get(key);
    const [name] = [...(names?.keys() ?? [])].filter((each) => names?.get(each) === slot).sort();
    if (name !== undefined) names!.delete(name);
    if (names?.size === 0) this.#openNames.delete(key);
    return name;
  }

  #slotOf(pod: NewPod): string {
    const { slotOf = () => '' } = this.#options;
    return slotOf(pod);
  }

  async #find(key: { readonly namespace: string | undefined; readonly name: string }, signal: AbortSignal) {
    try {
      return await this.#options.reader.get(key, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Deletes pods, all at once. Throws the first error when all have been tried. */
  async deleteAll(owner: PodOwner, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled(pods.map((pod) => this.delete(owner, pod, signal)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** Deletes this very pod, by its uid, with its own grace. One that is gone is as good. */
  async delete(owner: PodOwner, pod: Pod, signal: AbortSignal): Promise<void> {
    const { pods, clock, random } = this.#options;
    const { namespace, name = '', uid } = pod.metadata ?? {};
    const attempt = async (): Promise<Pod> => {
      try {
        return await pods.delete({ namespace, name }, { preconditions: { ...(uid && { uid }) } }, { signal });
      } catch (error) {
        if (uid && isOutcomeUnknown(error)) addTo(this.#doomed, owner.key, uid);
        throw error;
      }
    };
    const onFailure = (error: unknown) => this.tellFailure(owner, 'delete', error, name);
    try {
      this.#note(owner, await untilAnswered(attempt, { clock, signal, random, onFailure }));
      if (uid) removeFrom(this.#doomed, owner.key, uid);
      this.#tellDone(owner, 'delete', name);
    } catch (error) {
      if (isNotFound(error)) {
        // Another has deleted it: as long as the informer shows it, nothing else goes in its place.
        if (uid) addTo(this.#doomed, owner.key, uid);
        return;
      }
      if (!signal.aborted) this.tellFailure(owner, 'delete', error, name);
      throw error;
    }
  }

  /** Deletes again what shows and may have been deleted. Whether there was any: then the key waits until that shows. */
  async finishDeletions(owner: PodOwner, owned: readonly Pod[], signal: AbortSignal): Promise<boolean> {
    const doomed = this.#doomed.get(owner.key);
    if (!doomed) return false;
    const left = owned.filter(({ metadata }) => doomed.has(metadata?.uid ?? '') && !metadata?.deletionTimestamp);
    if (left.length === 0) {
      this.#doomed.delete(owner.key);
      return false;
    }
    // A pod with a refused deletion stays in the list: the outcome of the first attempt is still unknown.
    await this.deleteAll(owner, left, signal);
    return true;
  }

  /** For an owner that is gone. */
  forget(key: string): void {
    this.#openNames.delete(key);
    this.#doomed.delete(key);
  }

  /** Changes a pod by a merge patch of its metadata, from the version that was read. Throws ABORTED for another. */
  async patchMetadata(owner: PodOwner, pod: Pod, metadata: object, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = pod.metadata ?? {};
    const patch = { metadata: { uid, resourceVersion, ...metadata } };
    this.#note(owner, await this.#options.pods.patch({ namespace, name }, patch, {}, { signal }));
  }

  /** Takes a finalizer off a pod, by its uid, whatever else changed of it. One that is gone is as good. */
  async removeFinalizer(owner: PodOwner, pod: Pod, finalizer: string, signal: AbortSignal): Promise<void> {
    const { pods, clock, random } = this.#options;
    this.#note(owner, await removeFinalizer(pods, pod, finalizer, { clock, signal, random }));
  }

  /** Records that a pod could not be created or deleted. */
  tellFailure({ reference }: PodOwner, verb: PodVerb, error: unknown, pod?: string): void {
    const { events, wording = usualWording } = this.#options;
    const message = asApiError(error)?.message ?? String(error);
    const reason = verb === 'create' ? 'FailedCreate' : 'FailedDelete';
    events.event(reference, 'Warning', reason, wording.failed(verb, message, pod, reference));
  }

  #tellDone({ reference }: PodOwner, verb: PodVerb, pod: string): void {
    const { events, wording = usualWording } = this.#options;
    const reason = verb === 'create' ? 'SuccessfulCreate' : 'SuccessfulDelete';
    events.event(reference, 'Normal', reason, wording.done(verb, pod, reference));
  }

  #note({ key }: PodOwner, pod: Pod | undefined): void {
    const { writes, informer } = this.#options;
    if (pod && !pod.metadata?.resourceVersion) throw unavailable('the answer to a write names no resourceVersion');
    writes.note(key, informer, pod?.metadata?.resourceVersion);
  }
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key) ?? new Set();
  set.add(value);
  sets.set(key, set);
}

function removeFrom(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
