import { encodeMessage } from '../../api/codec/message.ts';
import type { PolicyRule, Subject } from '../../api/generated/types.ts';
import { type KindName, kindNamed, kinds } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import { Authorizer } from '../../apiserver/authz/authorizer.ts';
import { KindStore } from '../../apiserver/registry/kind-store.ts';
import { KindStores } from '../../apiserver/registry/kind-stores.ts';
import type { Registry } from '../../apiserver/registry/registry.ts';
import type { StoreEnvironment } from '../../apiserver/registry/store-environment.ts';
import { KindCache } from '../../apiserver/watch/kind-cache.ts';

/** An authorizer over caches that a test fills as the feed would. */
export function createRoleWorld() {
  // Nothing is written.
  const stores = new KindStores(kinds.map((kind) => new KindStore(new KindCache(kind), {} as StoreEnvironment)));
  const registry = { stores, store: (kind: string) => stores.get(kind)! } as unknown as Registry;
  const authorizer = new Authorizer(registry);
  let revision = 0;
  const stored = (name: KindName, object: ApiObject) => {
    const kind = kindNamed(name) as Kind;
    const { name: own = '', namespace = '' } = object.metadata ?? {};
    const key = stores.get(name)!.key({ namespace, name: own });
    return { key, bytes: encodeMessage(kind.message, object), revision: ++revision, durability: 'synced' as const };
  };
  const cacheOf = (name: KindName): KindCache => stores.get(name)!.cache;
  const put = (name: KindName, object: ApiObject): void => cacheOf(name).apply({ type: 'put', ...stored(name, object) });
  const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
  return {
    authorizer,
    registry,
    cacheOf,
    put,
    remove: (name: KindName, object: ApiObject) => cacheOf(name).apply({ type: 'delete', ...stored(name, object) }),
    clusterRole: (name: string, ...rules: PolicyRule[]) => put('ClusterRole', { metadata: { name }, rules } as ApiObject),
    role: (namespace: string, name: string, ...rules: PolicyRule[]) =>
      put('Role', { metadata: { namespace, name }, rules } as ApiObject),
    /** Gives a cluster role everywhere. */
    bind: (name: string, ...subjects: Subject[]) =>
      put('ClusterRoleBinding', { metadata: { name }, roleRef: roleRef('ClusterRole', name), subjects } as ApiObject),
    /** Gives a role, "Role/x" or "ClusterRole/x", in a namespace. */
    bindIn(namespace: string, role: string, ...subjects: Subject[]) {
      const [kind = '', name = ''] = role.split('/');
      put('RoleBinding', { metadata: { namespace, name }, roleRef: roleRef(kind, name), subjects } as ApiObject);
    },
  };
}

export const user = (name: string): Subject => ({ kind: 'User', name });
export const group = (name: string): Subject => ({ kind: 'Group', name });

/** "get,list pods,pods/log" of the group of pods. */
export function rule(text: string, more: PolicyRule = {}): PolicyRule {
  const [verbs = '', list = ''] = text.split(' ');
  return { verbs: verbs.split(','), apiGroups: [''], resources: list.split(','), ...more };
}
