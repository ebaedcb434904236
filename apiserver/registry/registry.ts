import { internal, notFound } from '../../api/errors/index.ts';
import type {
  CustomResourceDefinition,
  GetRequest,
  IngressClass,
  LimitRange,
  Node,
  PriorityClass,
  RuntimeClass,
  StorageClass,
} from '../../api/generated/types.ts';
import type { KindName } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { type Admission, composeAdmission } from '../admission/admission.ts';
import { defaultIngressClassRules } from '../admission/default-ingress-class.ts';
import { defaultStorageClassRules } from '../admission/default-storage-class.ts';
import { limitRangeRules } from '../admission/limit-range.ts';
import { mirrorPods } from '../admission/mirror-pods.ts';
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts';
import { podSecurityRules } from '../admission/pod-security.ts';
import { policyExpressions } from '../admission/policies/check-policy.ts';
import { type PriorityClasses, type PriorityOptions, priorityRules } from '../admission/priority.ts';
import { quotaDependence } from '../admission/resource-quota.ts';
import { runtimeClassRules } from '../admission/runtime-class.ts';
import { serviceAccountRules } from '../admission/service-account.ts';
import { webhookConditionRules } from '../admission/webhooks/conditions.ts';
import { definitionRules } from '../custom/definition-admission.ts';
import { andThen, type Eventually } from '../eventually.ts';
import type { Storage } from '../storage/storage.ts';
import type { Entry } from '../watch/entry.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { KindStore, type ObjectName } from './kind-store.ts';
import { KindStores } from './kind-stores.ts';
import { awaitVersion, entryAt } from './reads/list.ts';
import { parseMatch } from './resource-version.ts';
import type { StoreEnvironment } from './store-environment.ts';

/** The stores of all kinds and the rules between them. */
export interface Registry {
  readonly stores: KindStores;
  readonly admission: Admission;
  /** For what concerns no single kind. */
  readonly storage: Storage;
  /** Of a kind of Berth's own. Throws INTERNAL when this server does not have it. */
  store(kind: KindName): KindStore;
}

/** Makes the stores over caches that the caller feeds; starts nothing. */
export function createRegistry(
  caches: Iterable<KindCache>,
  environment: StoreEnvironment,
  options: PriorityOptions = {},
): Registry {
  const stores = new KindStores([...caches].map((cache) => new KindStore(cache, environment)));
  const store = (kind: KindName): KindStore => {
    const found = stores.get(kind);
    if (!found) throw internal(`this server was started without the kind ${kind}`);
    return found;
  };
  /** The newest by kind and name. */
  const readShared = (kind: KindName, name: string, namespace = ''): Eventually<ApiObject | undefined> => {
    const shared = store(kind);
    return andThen(shared.fresh(), () => {
      const entry = shared.cache.get(shared.key({ namespace, name }));
      return entry && shared.cache.decoder.decode(entry);
    });
  };
  /** The newest of all objects of a kind that belongs to no namespace. */
  const listShared = (kind: KindName): Eventually<ApiObject[]> => {
    const shared = stores.get(kind);
    if (!shared) return [];
    return andThen(shared.fresh(), () => shared.cache.range(shared.keyPrefix).map((entry) => shared.cache.decoder.decode(entry)));
  };
  const listRanges = (namespace: string): Eventually<LimitRange[] | undefined> => {
    const ranges = stores.get('LimitRange');
    if (!ranges) return undefined;
    return andThen(ranges.fresh(), () => {
      // Nearly every namespace has none, and every new pod passes here.
      if (ranges.cache.size === 0) return undefined;
      const entries = ranges.cache.range(`${ranges.keyPrefix}${namespace}/`);
      return entries.length === 0 ? undefined : entries.map((entry) => ranges.cache.decoder.decode(entry) as LimitRange);
    });
  };
  const classes: PriorityClasses = {
    get: (name) => readShared('PriorityClass', name) as Eventually<PriorityClass | undefined>,
    list: () => listShared('PriorityClass') as Eventually<PriorityClass[]>,
  };
  const rules = [
    namespaceLifecycle((name) => readShared('Namespace', name)),
    runtimeClassRules((name) => readShared('RuntimeClass', name) as Eventually<RuntimeClass | undefined>),
    priorityRules(classes, options),
    // Few kinds, in tests: no accounts either.
    ...(stores.has('ServiceAccount')
      ? [serviceAccountRules((namespace, name) => readShared('ServiceAccount', name, namespace))]
      : []),
    limitRangeRules(listRanges),
    defaultStorageClassRules(() => listShared('StorageClass') as Eventually<StorageClass[]>),
    defaultIngressClassRules(() => listShared('IngressClass') as Eventually<IngressClass[]>),
    podSecurityRules((name) => readShared('Namespace', name)),
    definitionRules((name) => readShared('CustomResourceDefinition', name) as Eventually<CustomResourceDefinition | undefined>),
    policyExpressions,
    mirrorPods((name) => readShared('Node', name) as Eventually<Node | undefined>),
    quotaDependence,
    webhookConditionRules,
  ];
  const { storage } = environment;
  return { stores, admission: composeAdmission(rules), storage, store };
}

/**
 * Reads one object. A resourceVersion means "at least as new as", with "Exact" the object as it was at that version.
 */
export function getObject(store: KindStore, at: ObjectName, request: GetRequest): Eventually<Entry> {
  const { version, exact } = parseMatch('get', request);
  const reached = version > store.cache.revision ? awaitVersion(store, version) : undefined;
  const fresh = andThen(reached, () => store.fresh());
  const found = andThen(fresh, () => (exact ? entryAt(store, store.key(at), version) : store.cache.get(store.key(at))));
  return andThen(found, (entry) => {
    if (!entry) throw notFound(store.subject(at));
    return entry;
  });
}
