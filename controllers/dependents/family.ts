import { ApiError, isNotFound } from '../../api/errors/index.ts';
import type { OwnerReference } from '../../api/generated/types.ts';
import { groupOf, resourceOf } from '../../api/kinds/identity.ts';
import { kindId, kinds } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Growing } from '../../api/meta/growing-set.ts';
import { createLru } from '../../api/meta/lru.ts';
import { type Informer, objectKey, type ResourceClient, type Scope, splitKey } from '../../client/index.ts';
import { isWaitingForDependents, type OwnerState } from './decide.ts';

/** A kind whose objects may own and be owned. The informer has `familyIndexers`; outlines suffice. */
export interface FamilyKind {
  readonly kind: Kind;
  readonly client: Pick<ResourceClient<ApiObject>, 'get' | 'list' | 'patch' | 'delete'>;
  readonly informer: Pick<Informer<ApiObject>, 'lister' | 'addHandler' | 'waitForSync'>;
}

/**
 * Objects by their own uid, by those of their owners, and by the owners' kinds as far as these are none of Berth's own.
 */
export const familyIndexers = {
  uid: ({ metadata }: ApiObject): readonly string[] => (metadata?.uid ? [metadata.uid] : []),
  owner: ({ metadata }: ApiObject): readonly string[] => (metadata?.ownerReferences ?? []).flatMap(({ uid }) => uid ?? []),
  ownerKind: ({ metadata }: ApiObject): readonly string[] =>
    (metadata?.ownerReferences ?? []).map(idOfOwner).filter((id) => !ownIds.has(id)),
};

/** An object with its kind: the objects themselves do not know it. */
export interface Member {
  readonly followed: FamilyKind;
  readonly object: ApiObject;
}

/** Owners and dependents over all kinds, as the informers show them. */
export interface Family {
  /** By the key that `keyOf` makes. */
  find(key: string): Member | undefined;
  dependentsOf(object: ApiObject): Member[];
  /**
   * The same as the server has it now: of several kinds one informer may be behind the other. Reads everything that the
   * object may own.
   */
  askForDependents(owner: Member, signal: AbortSignal): Promise<Member[]>;
  /** The keys of what names owners of this kind, for a kind that comes or goes; none for Berth's own. */
  keysBelow(kind: Kind): string[];
  /** The keys to look at again when this object changes: itself, its dependents, its owners. */
  keysAround(kind: Kind, object: ApiObject): string[];
  /** Asks the server where the informers do not know the owner: they may be behind. */
  judge(reference: OwnerReference, of: Member, signal: AbortSignal): Promise<OwnerState>;
  /** Whether the owner exists in a namespace that is not the object's, where it can own nothing of it. */
  isElsewhere(reference: OwnerReference, of: Member): boolean;
}

const separator = '|';
/** How many objects are held at once while dependents are looked for. */
const pageSize = 500;
/** How many kinds that have gone are remembered. */
const mostGone = 1_000;
const ownIds: ReadonlySet<string> = new Set(kinds.map(kindId));

function idOfOwner({ kind = '', apiVersion = '' }: OwnerReference): string {
  return kindId({ kind, apiVersion });
}

function keyOf(kind: Kind, object: ApiObject): string {
  return `${kindId(kind)}${separator}${objectKey(object)}`;
}

/** The kinds by their ids, and those that were removed. A kind is removed after all its objects. */
function followKinds(followed: Growing<FamilyKind>) {
  const byId = new Map<string, FamilyKind>();
  const gone = createLru<true>(mostGone);
  followed.follow(
    (each) => byId.set(kindId(each.kind), each),
    ({ kind }) => {
      byId.delete(kindId(kind));
      gone.set(kindId(kind), true);
    },
  );
  return { byId, isGone: (id: string) => !byId.has(id) && gone.get(id) === true };
}

export function createFamily(followed: Growing<FamilyKind>): Family {
  const { byId, isGone } = followKinds(followed);

  function related(index: keyof typeof familyIndexers, value: string | undefined): Member[] {
    const found: Member[] = [];
    if (!value) return found;
    for (const each of followed) {
      const { lister } = each.informer;
      // Of some fifty kinds one or two have any.
      if (!lister.isInIndex(index, value)) continue;
      for (const object of lister.byIndex(index, value)) found.push({ followed: each, object });
    }
    return found;
  }

  /** Of an owner in a namespace only what is in it: its uid in an object of another namespace names no owner. */
  const dependentsOf = ({ metadata }: ApiObject) =>
    related('owner', metadata?.uid).filter(
      ({ object }) => !metadata?.namespace || object.metadata?.namespace === metadata.namespace,
    );
  const keyOfMember = (member: Member) => keyOf(member.followed.kind, member.object);

  return {
    find(key) {
      const at = key.indexOf(separator);
      const each = byId.get(key.slice(0, at));
      const object = each?.informer.lister.get(key.slice(at + 1));
      return each && object && { followed: each, object };
    },
    dependentsOf,
    async askForDependents({ followed: { kind }, object }, signal) {
      const { uid, namespace } = object.metadata ?? {};
      const found: Member[] = [];
      for (const each of Array.from(followed).filter((other) => other.kind.namespaced || !kind.namespaced)) {
        const scope = { limit: pageSize, ...(kind.namespaced && { namespace }) };
        for await (const items of pagesOf(each, scope, signal)) {
          const owned = items.filter((item) => item.metadata?.ownerReferences?.some((reference) => reference.uid === uid));
          found.push(...owned.map((dependent) => ({ followed: each, object: dependent })));
        }
      }
      return found;
    },
    keysBelow: (kind) => related('ownerKind', kindId(kind)).map(keyOfMember),
    keysAround(kind, object) {
      const owners = (object.metadata?.ownerReferences ?? []).flatMap(({ uid }) => related('uid', uid));
      return [keyOf(kind, object), ...[...dependentsOf(object), ...owners].map(keyOfMember)];
    },
    async judge(reference, of, signal) {
      const id = idOfOwner(reference);
      const owner = byId.get(id);
      if (isGone(id)) return 'absent';
      // A kind that is not known here, or that cannot own this object: whether the owner exists is unknown.
      if (!owner || groupOf(owner.kind.apiVersion) !== groupOf(reference.apiVersion ?? '')) return 'present';
      if (owner.kind.namespaced && !of.followed.kind.namespaced) return 'present';
      const namespace = owner.kind.namespaced ? of.object.metadata?.namespace : undefined;
      const key = objectKey({ metadata: { ...(namespace ? { namespace } : {}), name: reference.name ?? '' } });
      const known = owner.informer.lister.get(key);
      const found = known?.metadata?.uid === reference.uid ? known : await ask(owner, key, signal);
      if (found?.metadata?.uid !== reference.uid) return 'absent';
      return isWaitingForDependents(found!) ? 'waiting' : 'present';
    },
    isElsewhere({ uid, kind }, of) {
      const { namespace } = of.object.metadata ?? {};
      const isOther = ({ metadata }: ApiObject): boolean => Boolean(metadata?.namespace) && metadata?.namespace !== namespace;
      return related('uid', uid).some((owner) => owner.followed.kind.kind === kind && isOther(owner.object));
    },
  };
}

/** The objects of a kind. Throws while the server does not serve it. */
async function* pagesOf({ kind, client }: FamilyKind, scope: Scope, signal: AbortSignal): AsyncGenerator<readonly ApiObject[]> {
  for (let from = '', more = true; more; more = from !== '') {
    const asked = client.list({ ...scope, ...(from && { continue: from }) }, { signal });
    const page = await asked.catch((error: unknown) => throwFor(kind, error));
    yield page.items;
    from = page.metadata.continue ?? '';
  }
}

async function ask({ kind, client }: FamilyKind, key: string, signal: AbortSignal): Promise<ApiObject | undefined> {
  try {
    return await client.get(splitKey(key), { signal });
  } catch (error) {
    // A kind that the server does not serve just now tells nothing about its objects.
    if (isNotFound(error) && error instanceof ApiError && error.subject.name !== undefined) return undefined;
    return throwFor(kind, error);
  }
}

/** Of a kind that is not served: an error after which it is tried again, or found that the kind has gone. */
function throwFor(kind: Kind, error: unknown): never {
  if (isNotFound(error)) throw new Error(`read ${resourceOf(kind)}: the server does not serve them now`, { cause: error });
  throw error;
}
