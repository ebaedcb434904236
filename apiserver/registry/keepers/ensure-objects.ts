import { isAlreadyExists, isNotFound } from '../../../api/errors/index.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from '../../../api/generated/types.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { KindName } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { systemPriorityClasses } from '../../../api/kinds/priority-class/system.ts';
import { localPathClass } from '../../../api/kinds/storage-class/local-path.ts';
import { annotations, namespaces } from '../../../api/meta/well-known.ts';
import { builtInBindings, builtInRolesWith, controllersOfGroup } from '../../authz/rbac/built-in-roles.ts';
import { withMissing } from '../../authz/rbac/reconcile.ts';
import type { AnyObject } from '../any-object.ts';
import { createObject } from '../create.ts';
import { deleteObject } from '../delete.ts';
import { nextVersion } from '../next-version.ts';
import type { Registry } from '../registry.ts';
import { serverContext } from '../server-context.ts';
import { syncAggregation } from './aggregated-roles.ts';

/**
 * Makes the namespaces that Berth itself needs, the system's priority classes, the built-in roles and their bindings,
 * where they are missing, and once, when there was none before, the storage class for claims that name none.
 */
export async function ensureObjects(registry: Registry, controllerRules: readonly PolicyRule[] = []): Promise<void> {
  for (const name of Object.values(namespaces)) await ensure(registry, 'Namespace', { metadata: { name } });
  if (registry.stores.has('PriorityClass'))
    for (const priorityClass of systemPriorityClasses) await ensure(registry, 'PriorityClass', priorityClass);
  if (registry.stores.has('StorageClass')) await ensureOnce(registry);
  if (registry.stores.has('ClusterRole')) await ensureRoles(registry, controllerRules);
}

/**
 * The built-in roles get what they lack, unless an annotation tells the server to leave one alone; what was added to
 * them stays.
 */
async function ensureRoles(registry: Registry, controllerRules: readonly PolicyRule[]): Promise<void> {
  await ensureUpToDate(registry, builtInRolesWith(controllerRules), builtInBindings);
  await syncAggregation(registry);
}

/** Lets the controllers collect the objects of a kind that came while the server runs. */
export async function ensureCollected(registry: Registry, { apiVersion }: Kind): Promise<void> {
  if (!registry.stores.has('ClusterRole')) return;
  const { role, binding } = controllersOfGroup(groupOf(apiVersion));
  await ensureUpToDate(registry, [role], [binding]);
}

/** Takes that back with the last kind of the group. */
export async function forgetCollected(registry: Registry, { apiVersion }: Kind): Promise<void> {
  const group = groupOf(apiVersion);
  if (!registry.stores.has('ClusterRole') || [...registry.stores].some(({ resource }) => resource.group === group)) return;
  const { role, binding } = controllersOfGroup(group);
  for (const [kind, { metadata }] of [
    ['ClusterRoleBinding', binding],
    ['ClusterRole', role],
  ] as const)
    try {
      await deleteObject(registry.store(kind), { namespace: '', name: metadata?.name ?? '' }, {}, serverContext);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
}

async function ensureUpToDate(
  registry: Registry,
  roles: readonly ClusterRole[],
  bindings: readonly ClusterRoleBinding[],
): Promise<void> {
  for (const [kind, wanted] of [
    ['ClusterRole', roles],
    ['ClusterRoleBinding', bindings],
  ] as const) {
    const store = registry.store(kind);
    for (const each of wanted) {
      await ensure(registry, kind, each as AnyObject);
      const at = { namespace: '', name: each.metadata?.name ?? '' };
      const compute = (previous: AnyObject): AnyObject => nextVersion(store, 'object', withMissing(each, previous), previous);
      await store.change(at, { context: serverContext, verb: 'patch', compute });
    }
  }
}

/**
 * The class is a user's to delete; that it was made is noted where it stays, after it was: two servers that start at
 * once make it together.
 */
async function ensureOnce(registry: Registry): Promise<void> {
  const store = registry.store('Namespace');
  const at = { namespace: '', name: namespaces.system };
  const isMade = ({ metadata }: AnyObject) => metadata?.annotations?.[annotations.localPathClassMade] !== undefined;
  const system = await store.read(at);
  if (!system || isMade(store.cache.decoder.decode(system) as AnyObject)) return;
  await ensure(registry, 'StorageClass', localPathClass);
  const compute = (previous: AnyObject): AnyObject => {
    const next = structuredClone(previous);
    next.metadata = {
      ...next.metadata,
      annotations: { ...next.metadata?.annotations, [annotations.localPathClassMade]: 'true' },
    };
    return nextVersion(store, 'object', next, previous);
  };
  await store.change(at, { context: serverContext, verb: 'patch', compute });
}

async function ensure(registry: Registry, kind: KindName, wanted: AnyObject): Promise<void> {
  const store = registry.store(kind);
  if (await store.read({ namespace: '', name: wanted.metadata?.name ?? '' })) return;
  try {
    await createObject(store, registry.admission, { ...serverContext, take: () => structuredClone(wanted) });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
