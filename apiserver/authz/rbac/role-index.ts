import type { ClusterRole, ClusterRoleBinding, PolicyRule, RoleBinding, Subject } from '../../../api/generated/types.ts';
import { keyPrefixOf } from '../../../api/kinds/identity.ts';
import { kindNamed } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { Identity } from '../../authn/identity.ts';
import { serviceAccountUser } from '../../authn/identity.ts';
import { type Entry, placeOf } from '../../watch/entry.ts';
import type { KindCache } from '../../watch/kind-cache.ts';
import { RuleSet } from './rule-set.ts';

/** The caches that the index follows. One that is missing, as in tests with few kinds, is empty. */
export interface RoleCaches {
  readonly roles: KindCache | undefined;
  readonly clusterRoles: KindCache | undefined;
  readonly roleBindings: KindCache | undefined;
  readonly clusterRoleBindings: KindCache | undefined;
}

interface Binding {
  /** "" for a binding in the whole cluster. */
  readonly namespace: string;
  readonly role: string;
  readonly subjects: readonly string[];
}

/** The number of users with cached rules; the least recently used are evicted. */
const MAX_USERS = 1_000;

const clusterRoles = keyPrefixOf(kindNamed('ClusterRole'));
const roles = keyPrefixOf(kindNamed('Role'));

const noRules: readonly PolicyRule[] = [];

/**
 * An index of roles by subject, maintained from the watch caches: each change of a role or binding is applied as it
 * arrives and invalidates the derived rule sets. An answer depends on current state only, not on the order of events.
 */
export class RoleIndex {
  readonly #caches: RoleCaches;
  readonly #rules = new Map<string, readonly PolicyRule[]>();
  readonly #bindings = new Map<string, Binding>();
  readonly #bySubject = new Map<string, Set<Binding>>();
  #sets = new Map<string, RuleSet>();
  #ofIdentity = new WeakMap<Identity, RuleSet>();

  constructor(caches: RoleCaches) {
    this.#caches = caches;
  }

  /** Begins to follow the caches; the returned function ends it. */
  observe(): () => void {
    const { roles, clusterRoles, roleBindings, clusterRoleBindings } = this.#caches;
    const ends = [
      ...[roles, clusterRoles].map((cache) => cache && this.#follow(cache, this.#rules, (entry) => this.#putRole(cache, entry))),
      ...[roleBindings, clusterRoleBindings].map(
        (cache) => cache && this.#follow(cache, this.#bindings, (entry) => this.#putBinding(cache, entry)),
      ),
    ];
    return () => {
      for (const end of ends) end?.();
    };
  }

  /** Everything that a user's roles allow. */
  rulesOf(identity: Identity): RuleSet {
    const known = this.#ofIdentity.get(identity);
    if (known) return known;
    const key = JSON.stringify([identity.user, identity.groups]);
    const set = this.#sets.get(key) ?? this.#collect(identity);
    // Evicts the least recently used one.
    this.#sets.delete(key);
    this.#sets.set(key, set);
    if (this.#sets.size > MAX_USERS) this.#sets.delete(this.#sets.keys().next().value!);
    this.#ofIdentity.set(identity, set);
    return set;
  }

  /** The rules of a role that a binding in a namespace ("": in the cluster) names; undefined when there is none. */
  rulesOfRole(namespace: string, { kind = '', name = '' }: { kind?: string; name?: string }): readonly PolicyRule[] | undefined {
    return this.#rules.get(roleKey(namespace, kind, name));
  }

  #collect({ user, groups }: Identity): RuleSet {
    const rules = new Map<string, PolicyRule[]>();
    const seen = new Set<string>();
    for (const subject of [userKey(user), ...groups.map(groupKey)]) {
      for (const { namespace, role } of this.#bySubject.get(subject) ?? []) {
        const once = `${namespace}\0${role}`;
        if (seen.has(once)) continue;
        seen.add(once);
        const list = rules.get(namespace) ?? [];
        list.push(...(this.#rules.get(role) ?? noRules));
        rules.set(namespace, list);
      }
    }
    return new RuleSet(rules);
  }

  #follow(cache: KindCache, table: Map<string, unknown>, put: (entry: Entry) => void): () => void {
    const prefix = keyPrefixOf(cache.kind);
    return cache.observe({
      reset: (entries) => {
        for (const key of [...table.keys()]) if (key.startsWith(prefix)) this.#remove(key);
        for (const entry of entries) cache.attempt(entry.key, () => put(entry));
        this.#forget();
      },
      event: ({ type, entry }) => {
        // First: what cannot be read allows nothing.
        this.#remove(entry.key);
        this.#forget();
        if (type !== 'DELETED') put(entry);
      },
    });
  }

  #forget(): void {
    this.#sets = new Map();
    this.#ofIdentity = new WeakMap();
  }

  #putRole({ decoder }: KindCache, entry: Entry): void {
    this.#rules.set(entry.key, (decoder.decode(entry) as ClusterRole).rules ?? noRules);
  }

  #putBinding({ decoder, kind }: KindCache, entry: Entry): void {
    const { subjects = [], roleRef } = decoder.decode(entry) as RoleBinding | ClusterRoleBinding;
    const namespace = (kind as Kind).namespaced ? placeOf(entry.key).namespace : '';
    const binding: Binding = {
      namespace,
      role: roleKey(namespace, roleRef?.kind ?? '', roleRef?.name ?? ''),
      subjects: subjects.flatMap((subject) => subjectKey(subject, namespace) ?? []),
    };
    this.#bindings.set(entry.key, binding);
    for (const subject of binding.subjects) {
      const known = this.#bySubject.get(subject);
      if (known) known.add(binding);
      else this.#bySubject.set(subject, new Set([binding]));
    }
  }

  #remove(key: string): void {
    this.#rules.delete(key);
    const binding = this.#bindings.get(key);
    if (!binding) return;
    this.#bindings.delete(key);
    for (const subject of binding.subjects) {
      const known = this.#bySubject.get(subject);
      if (known?.delete(binding) && known.size === 0) this.#bySubject.delete(subject);
    }
  }
}

/** A role by the key under which it is stored. */
function roleKey(namespace: string, kind: string, name: string): string {
  return kind === 'ClusterRole' ? `${clusterRoles}${name}` : `${roles}${namespace}/${name}`;
}

const userKey = (name: string): string => `u:${name}`;
const groupKey = (name: string): string => `g:${name}`;

function subjectKey({ kind, name = '', namespace = '' }: Subject, ofBinding: string): string | undefined {
  if (kind === 'User') return userKey(name);
  if (kind === 'Group') return groupKey(name);
  const home = namespace || ofBinding;
  return kind === 'ServiceAccount' && home !== '' ? userKey(serviceAccountUser(home, name)) : undefined;
}
