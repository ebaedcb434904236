import { messageToJson } from '../../api/codec/json.ts';
import { isNotFound } from '../../api/errors/index.ts';
import type { OwnerReference } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { Growing } from '../../api/meta/growing-set.ts';
import { createLru } from '../../api/meta/lru.ts';
import { type EventRecorder, type Logger, referenceTo } from '../../client/index.ts';
import { type Controller, changesOf, changesOfAll, type Source, type Wake } from '../controller.ts';
import type { ControllerDefinition } from '../definition.ts';
import { type DependentAction, decideDependent, decideOwner } from './decide.ts';
import { createFamily, type Family, type FamilyKind, familyIndexers, type Member } from './family.ts';

export interface DependentsOptions {
  /**
   * The kinds whose owner references are followed. Owners of other kinds are taken to exist, unless the kind was there
   * before: it went after its objects.
   */
  readonly kinds: Growing<FamilyKind>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly logger: Logger;
}

/** With more references to other namespaces than this, some are told again. */
const rememberedSize = 1_000;

/**
 * Follows ownerReferences: an object goes when none of its owners exists any more (Background), or together with an
 * owner that waits for that (Foreground), or stays and loses the reference (Orphan). Judged by uid, because names are
 * used again.
 */
export function createDependents(options: DependentsOptions): Controller {
  return new DependentsController(options);
}

class DependentsController implements Controller {
  readonly #options: DependentsOptions;
  readonly #family: Family;
  readonly #told = createLru<true>(rememberedSize);
  readonly name = 'dependents';
  readonly sources: readonly Source[];

  constructor(options: DependentsOptions) {
    this.#options = options;
    this.#family = createFamily(options.kinds);
    this.sources = [changesOfAll(options.kinds, (each, wake) => this.#follow(each, wake))];
  }

  /** What names owners of a kind is judged again when the kind comes, and when it goes. */
  #follow({ kind, informer }: FamilyKind, wake: Wake): () => void {
    const wakeBelow = (): void => {
      for (const key of this.#family.keysBelow(kind)) wake(key);
    };
    const keysOf = (object: ApiObject): string[] => this.#family.keysAround(kind, object);
    const end = changesOf(informer, keysOf, { matters: changesTies }).connect(wake);
    wakeBelow();
    return () => {
      end();
      wakeBelow();
    };
  }

  async reconcile(key: string, signal: AbortSignal): Promise<void> {
    const member = this.#family.find(key);
    if (member === undefined) return;
    try {
      if (member.object.metadata?.deletionTimestamp) await this.#tendOwner(member, signal);
      else await this.#tendDependent(member, signal);
    } catch (error) {
      // Gone while it was looked at: what that means for others, its own disappearance tells.
      if (!isNotFound(error)) throw error;
    }
  }

  async #tendDependent(member: Member, signal: AbortSignal): Promise<void> {
    const references = member.object.metadata?.ownerReferences ?? [];
    const owners = [];
    for (const reference of references) {
      owners.push({ reference, state: await this.#family.judge(reference, member, signal) });
      if (this.#family.isElsewhere(reference, member)) this.#tellElsewhere(reference, member);
    }
    const dependents = () => this.#family.dependentsOf(member.object).map(({ object }) => object);
    await this.#actOn(member, decideDependent(member.object, owners, dependents), signal);
  }

  /** In Kubernetes' words: otherwise nothing says why such an object is deleted, or does not go with its owner. */
  #tellElsewhere({ apiVersion, kind, name, uid }: OwnerReference, { followed, object }: Member): void {
    const { namespace = '', uid: own } = object.metadata ?? {};
    const key = `${own} ${uid}`;
    if (this.#told.get(key)) return;
    this.#told.set(key, true);
    const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    const about = { ...referenceTo(followed.kind.kind, object), apiVersion: followed.kind.apiVersion };
    const message = `ownerRef ${owner} does not exist in namespace "${namespace}"`;
    this.#options.events.event(about, 'Warning', 'OwnerRefInvalidNamespace', message);
  }

  async #actOn(member: Member, action: DependentAction, signal: AbortSignal): Promise<void> {
    const { followed, object } = member;
    if (action.type === 'keep') return;
    if (action.type === 'release') {
      await this.#patch(member, { ownerReferences: action.ownerReferences.map(referenceJson) }, signal);
      return;
    }
    let { uid, resourceVersion } = object.metadata ?? {};
    if (action.unblock) {
      const ownerReferences = (object.metadata?.ownerReferences ?? []).map((each) => ({ ...each, blockOwnerDeletion: false }));
      ({ uid, resourceVersion } =
        (await this.#patch(member, { ownerReferences: ownerReferences.map(referenceJson) }, signal)).metadata ?? {});
    }
    const { propagationPolicy } = action;
    const preconditions = { uid, resourceVersion };
    await followed.client.delete(nameOf(object), { propagationPolicy, preconditions }, { signal });
    this.#options.logger.info(
      { kind: followed.kind.kind, ...nameOf(object), propagationPolicy },
      'deleted an object whose owners are gone',
    );
  }

  async #tendOwner(member: Member, signal: AbortSignal): Promise<void> {
    const dependents = () => this.#family.dependentsOf(member.object).map(({ object }) => object);
    const action = decideOwner(member.object, dependents);
    if (action.type === 'wait') return;
    if (action.type === 'orphan')
      for (const dependent of await this.#family.askForDependents(member, signal)) await this.#disown(dependent, member, signal);
    await this.#patch(member, { finalizers: action.finalizers.length > 0 ? action.finalizers : null }, signal);
  }

  async #disown(dependent: Member, owner: Member, signal: AbortSignal): Promise<void> {
    const references = dependent.object.metadata?.ownerReferences ?? [];
    const others = references.filter(({ uid }) => uid !== owner.object.metadata?.uid).map(referenceJson);
    try {
      await this.#patch(dependent, { ownerReferences: others.length > 0 ? others : null }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #patch({ followed, object }: Member, change: object, signal: AbortSignal): Promise<ApiObject> {
    const { uid, resourceVersion } = object.metadata ?? {};
    return followed.client.patch(nameOf(object), { metadata: { uid, resourceVersion, ...change } }, {}, { signal });
  }
}

/** Whether anything changed on which this controller decides; most changes of most objects do not. */
function changesTies(next: ApiObject, old: ApiObject): boolean {
  return tiesOf(next) !== tiesOf(old);
}

function tiesOf({ metadata = {} }: ApiObject): string {
  const { uid, ownerReferences, finalizers, deletionTimestamp } = metadata;
  return JSON.stringify([uid, ownerReferences, finalizers, deletionTimestamp?.seconds]);
}

function nameOf({ metadata = {} }: ApiObject) {
  const { namespace, name = '' } = metadata;
  return { namespace, name };
}

function referenceJson(reference: OwnerReference): object {
  return messageToJson('berth.meta.v1.OwnerReference', reference);
}

export const dependents: ControllerDefinition = {
  name: 'dependents',
  component: 'garbage-collector-controller',
  followedIndexers: () => familyIndexers,
  create: ({ followed, events, logger }) => createDependents({ kinds: followed, events, logger }),
};
