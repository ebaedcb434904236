import { isAlreadyExists, isConflict, isNotFound } from '../../api/errors/index.ts';
import type { ControllerRevision, OwnerReference, PodTemplateSpec } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import { labelSelectorMatches } from '../../api/meta/labels.ts';
import { controllerOf, controllerReference, isControlledBy } from '../../api/meta/owner.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import type { Clock, Informer, ResourceClient, ResourceWrites } from '../../client/index.ts';
import { decideClaims } from '../owned-pods/claims.ts';
import type { Showing } from '../owned-pods/own-writes.ts';
import { candidatesOf } from '../owned-pods/pod-index.ts';
import { isOutcomeUnknown, untilAnswered } from '../owned-pods/until-answered.ts';
import { readTemplates } from '../template-digests.ts';
import { decideRevision, decideTruncation, inOrder, newRevision } from './history.ts';
import type { Revised, RevisedKind } from './revised.ts';
import { isRevisionOf, templateOfRevision } from './revision-data.ts';

export interface RevisionsOptions<O extends Revised> extends RevisedKind {
  /** With `ownedIndexers`. */
  readonly informer: Informer<ControllerRevision>;
  readonly reader: Pick<ResourceClient<ControllerRevision>, 'get'>;
  readonly writes: Pick<ResourceWrites<ControllerRevision>, 'create' | 'patch' | 'delete'>;
  /** Asked before a revision is adopted: the informer may not know yet that the owner is being deleted. */
  readonly owners: Pick<ResourceClient<O>, 'get'>;
  /** Waits, before the key is decided on again, until the informer shows what was written. */
  readonly note: (key: string, informer: Showing, written: ControllerRevision) => void;
  readonly clock: Clock;
}

export type LookedRevisions =
  /** Oldest first; `update` is that of the present template, and the newest. */
  | { readonly is: 'known'; readonly revisions: readonly ControllerRevision[]; readonly update: ControllerRevision }
  /** Something was written: the key is to be looked at when it shows. */
  | { readonly is: 'written' }
  /** Another object has the name of the new revision: the collision is to be counted. */
  | { readonly is: 'taken' };

interface Numbered {
  readonly revision: ControllerRevision;
  readonly number: number;
}

/**
 * The ControllerRevisions of the objects of one kind. One for each controller; it is asked about one key at a time. A
 * create, or a change of a number, whose outcome is unknown is repeated until it is answered, before anything else is
 * written: so no two revisions get one number.
 */
export class Revisions<O extends Revised> {
  readonly #options: RevisionsOptions<O>;
  /** By the owner's key: a revision that may have been made. */
  readonly #open = new Map<string, ControllerRevision>();
  /** By the owner's key: a revision that may have got this number. */
  readonly #openNumbers = new Map<string, Numbered>();

  constructor(options: RevisionsOptions<O>) {
    this.#options = options;
  }

  /** Adopts and releases, and sees to it that the present template has a revision, and the greatest number. */
  async look(object: O, signal: AbortSignal): Promise<LookedRevisions> {
    const { informer } = this.#options;
    const open = this.#open.get(objectKey(object));
    if (open && isControlledBy(open, object)) {
      await this.#create(object, open, signal);
      return { is: 'written' };
    }
    const numbered = this.#openNumbers.get(objectKey(object));
    if (numbered && isControlledBy(numbered.revision, object)) {
      await this.#renumber(object, numbered, signal);
      return { is: 'written' };
    }
    const { owned, adopt, release } = decideClaims(object, object.spec?.selector, candidatesOf(informer.lister, object));
    if (adopt.length + release.length > 0) {
      await this.#claim(object, adopt, release, signal);
      return { is: 'written' };
    }
    const revisions = inOrder(owned);
    await readTemplates(templatesOf(object, revisions), signal);
    const step = decideRevision(revisions, object.spec?.template ?? {});
    if (step.do === 'nothing') return { is: 'known', revisions, update: step.update };
    if (step.do === 'create') return { is: await this.#create(object, newRevision(this.#options, object, step.number), signal) };
    await this.#renumber(object, step, signal);
    return { is: 'written' };
  }

  /** Notes in a revision that a pod of it has been ready. */
  async markReady(object: O, revision: ControllerRevision, signal: AbortSignal): Promise<void> {
    const metadata = { annotations: { [workloadAnnotations.hasBeenReady]: 'true' } };
    await this.#patch(object, revision, { metadata }, signal);
  }

  /** Deletes what is beyond the limit of the history. One that has changed meanwhile stays. */
  async truncate(
    object: O,
    revisions: readonly ControllerRevision[],
    isLive: (revision: ControllerRevision) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const limit = object.spec?.revisionHistoryLimit ?? 10;
    for (const { metadata } of decideTruncation(revisions, { isLive, limit })) {
      const { namespace, name = '', uid, resourceVersion } = metadata ?? {};
      const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
      await passOver(async () =>
        this.#note(object, await this.#options.writes.delete({ namespace, name }, { preconditions }, { signal })),
      );
    }
  }

  /** For an object that is gone. */
  forget(key: string): void {
    this.#open.delete(key);
    this.#openNumbers.delete(key);
  }

  async #create(object: O, revision: ControllerRevision, signal: AbortSignal): Promise<'written' | 'taken'> {
    const { writes, clock } = this.#options;
    const key = objectKey(object);
    const attempt = async (): Promise<ControllerRevision | undefined> => {
      try {
        return await writes.create(revision, {}, { signal });
      } catch (error) {
        if (isOutcomeUnknown(error)) this.#open.set(key, revision);
        if (!isAlreadyExists(error)) throw error;
        return this.#findOwn(object, revision, signal);
      }
    };
    const made = await untilAnswered(attempt, { clock, signal });
    this.#open.delete(key);
    if (!made) return 'taken';
    this.#note(object, made);
    return 'written';
  }

  /**
   * Makes a revision the newest. Repeated until it is answered, as a create is: the template may have changed again
   * before the informer shows that a number is taken.
   */
  async #renumber(object: O, numbered: Numbered, signal: AbortSignal): Promise<void> {
    const { clock, reader } = this.#options;
    const { revision, number } = numbered;
    const { namespace, name = '' } = revision.metadata ?? {};
    const key = objectKey(object);
    const attempt = async (): Promise<void> => {
      try {
        await this.#patch(object, revision, { revision: number }, signal);
      } catch (error) {
        if (isOutcomeUnknown(error)) this.#openNumbers.set(key, numbered);
        if (isNotFound(error)) this.#openNumbers.delete(key);
        if (!this.#openNumbers.has(key) || !isConflict(error)) throw error;
        // The revision has changed since it was read, perhaps by an attempt without an answer: that has to show first.
        this.#note(object, await reader.get({ namespace, name }, { signal }));
      }
    };
    await untilAnswered(attempt, { clock, signal });
    this.#openNumbers.delete(key);
  }

  /** What has the name of a revision, if it is that: the name follows from the template, so only a collision is not. */
  async #findOwn(
    object: O,
    { metadata, data }: ControllerRevision,
    signal: AbortSignal,
  ): Promise<ControllerRevision | undefined> {
    const { namespace, name = '' } = metadata ?? {};
    const found = await this.#options.reader.get({ namespace, name }, { signal });
    const isOurs = controllerOf(found)
      ? isControlledBy(found, object)
      : labelSelectorMatches(object.spec?.selector, found.metadata?.labels);
    const template = templateOfRevision({ data: data! });
    return isOurs && template && isRevisionOf(found, template) ? found : undefined;
  }

  async #claim(
    object: O,
    adopt: readonly ControllerRevision[],
    release: readonly ControllerRevision[],
    signal: AbortSignal,
  ): Promise<void> {
    const { owners, kind } = this.#options;
    const { namespace, name = '', uid } = object.metadata ?? {};
    const write = (revision: ControllerRevision, ownerReferences: readonly OwnerReference[]) =>
      passOver(() => this.#patch(object, revision, { metadata: { ownerReferences } }, signal));
    for (const revision of release)
      await write(
        revision,
        (revision.metadata?.ownerReferences ?? []).filter((reference) => reference.uid !== uid),
      );
    if (adopt.length === 0) return;
    const present = await owners.get({ namespace, name }, { signal });
    if (present.metadata?.uid !== uid || present.metadata?.deletionTimestamp) return;
    for (const revision of adopt)
      await write(revision, [...(revision.metadata?.ownerReferences ?? []), controllerReference(kind, object)]);
  }

  async #patch(
    object: O,
    { metadata }: ControllerRevision,
    change: { readonly metadata?: object; readonly revision?: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name = '', uid, resourceVersion } = metadata ?? {};
    const patch = { ...change, metadata: { uid, resourceVersion, ...change.metadata } };
    this.#note(object, await this.#options.writes.patch({ namespace, name }, patch, {}, { signal }));
  }

  #note(object: O, written: ControllerRevision): void {
    const { note, informer } = this.#options;
    note(objectKey(object), informer, written);
  }
}

/** One by one: each is read when it is come to. */
function* templatesOf({ spec }: Revised, revisions: readonly ControllerRevision[]): Generator<PodTemplateSpec | undefined> {
  yield spec?.template;
  for (const revision of revisions) yield templateOfRevision(revision);
}

/** An object that is gone, or changed meanwhile, is looked at again. */
async function passOver(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
