import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type {
  CustomResourceDefinition,
  TypeChecking,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicySpec,
} from '../../../api/generated/types.ts';
import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import { groupOf, resourceOf } from '../../../api/kinds/identity.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { SchemaTypes } from '../../cel/schema-types.ts';
import { readSchema } from '../../custom/definition-admission.ts';
import { loadSchemaEngine } from '../../custom/schema-engine.ts';
import type { AnyObject } from '../../registry/any-object.ts';
import { cloneObject } from '../../registry/clone-object.ts';
import { Keeper } from '../../registry/keepers/keeper.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { nextVersion } from '../../registry/next-version.ts';
import type { Registry } from '../../registry/registry.ts';
import { serverContext } from '../../registry/server-context.ts';
import { placeOf } from '../../watch/entry.ts';
import { versionOf } from '../matching/rules.ts';
import { loadPolicyEngine, type PolicyEngine } from './load-engine.ts';

/** The kinds against which a policy is checked, as in Kubernetes. */
const MOST_KINDS = 10;

/**
 * Checks the expressions of policies against the types of the kinds that they match, once for each generation, and
 * writes the errors into `status.typeChecking`, until the signal aborts. Never throws.
 */
export async function runTypeChecking(registry: Registry, log: Logger, signal: AbortSignal): Promise<void> {
  const store = registry.stores.get('ValidatingAdmissionPolicy');
  if (!store) return;
  await new Keeper({
    what: 'the type checking of policies',
    sources: [{ cache: store.cache, keysOf: ({ key }) => [placeOf(key).name] }],
    all: () => [...store.cache.range(store.keyPrefix)].map(({ key }) => placeOf(key).name),
    sync: (name) => syncPolicy(registry, store, name),
    log,
  }).run(signal);
}

async function syncPolicy(registry: Registry, store: KindStore, name: string): Promise<boolean> {
  const at = { namespace: '', name };
  const entry = store.cache.get(store.key(at));
  const policy = entry && (store.cache.decoder.decode(entry) as ValidatingAdmissionPolicy);
  if (!policy || isChecked(policy)) return false;
  const typeChecking = await checkPolicy(registry, policy);
  const compute = (previous: AnyObject): AnyObject => {
    if (!isSameWish(previous, policy)) return previous;
    const next = cloneObject(previous) as AnyObject & ValidatingAdmissionPolicy;
    next.status = { ...next.status, observedGeneration: policy.metadata?.generation ?? 0, typeChecking };
    return nextVersion(store, 'status', next, previous);
  };
  await store.change(at, { context: serverContext, verb: 'update-status', compute });
  return true;
}

/** The uid tells a policy from another one of its name, whose generations begin anew. */
const isSameWish = (a: AnyObject, b: ValidatingAdmissionPolicy): boolean =>
  a.metadata?.uid === b.metadata?.uid && a.metadata?.generation === b.metadata?.generation;

function isChecked({ metadata = {}, status = {} }: ValidatingAdmissionPolicy): boolean {
  return (metadata.generation ?? 0) <= (status.observedGeneration ?? 0);
}

/** An empty list says that everything fits, or that the types of no kind are known. */
async function checkPolicy(registry: Registry, policy: ValidatingAdmissionPolicy): Promise<TypeChecking> {
  const engine = await loadPolicyEngine();
  const { spec = {} } = policy;
  const params = await typesOfParams(registry, engine, spec);
  const warnings = new Map<string, string[]>();
  for (const kind of namedKinds(registry, spec)) {
    const object = await typesOfKind(registry, engine, kind);
    if (!object) continue;
    for (const [fieldRef, why] of engine.checkTypes(policy, { object, params })) {
      const said = `${kind.apiVersion}, Kind=${kind.kind}: ${why}`;
      warnings.set(fieldRef, [...(warnings.get(fieldRef) ?? []), said]);
    }
    // To compile for a kind takes milliseconds.
    await nextTurn();
  }
  const expressionWarnings = [...warnings].map(([fieldRef, all]) => ({ fieldRef, warning: all.join('\n') }));
  return expressionWarnings.length > 0 ? { expressionWarnings } : {};
}

/** In order of groups, versions and names. Rules that name everything ("*"), or subresources, name no kind. */
function namedKinds({ stores }: Registry, { matchConstraints }: ValidatingAdmissionPolicySpec): readonly Kind[] {
  const rules = (matchConstraints?.resourceRules ?? []).map(({ ruleWithOperations }) => ruleWithOperations?.rule ?? {});
  const isNamed = (apiVersion: string, plural: string): boolean =>
    rules.some(
      ({ apiGroups = [], apiVersions = [], resources = [] }) =>
        apiGroups.includes(groupOf(apiVersion)) && apiVersions.includes(versionOf(apiVersion)) && resources.includes(plural),
    );
  const found: Kind[] = [];
  for (const { id, kind } of stores) {
    for (const apiVersion of stores.servedVersionsOf(id)) {
      if (!isNamed(apiVersion, kind.plural)) continue;
      found.push(apiVersion === kind.apiVersion ? kind : stores.find({ kind: kind.kind, apiVersion }).kind);
    }
  }
  const orderOf = ({ apiVersion, kind }: Kind): string => [groupOf(apiVersion), versionOf(apiVersion), kind].join('\0');
  return found.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)).slice(0, MOST_KINDS);
}

async function typesOfParams(
  registry: Registry,
  engine: PolicyEngine,
  { paramKind }: ValidatingAdmissionPolicySpec,
): Promise<SchemaTypes | undefined> {
  const isNamed = (kind: Kind): boolean =>
    kind.kind === paramKind?.kind && groupOf(kind.apiVersion) === groupOf(paramKind.apiVersion ?? '');
  const store = paramKind && [...registry.stores].find((each) => isNamed(each.kind));
  if (!store) return undefined;
  const { apiVersion = '' } = paramKind;
  const isServed = registry.stores.servedVersionsOf(store.id).includes(apiVersion);
  return isServed ? typesOfKind(registry, engine, registry.stores.find({ kind: store.kind.kind, apiVersion }).kind) : undefined;
}

/** Undefined for a kind whose definition has gone meanwhile. */
async function typesOfKind(registry: Registry, engine: PolicyEngine, kind: Kind): Promise<SchemaTypes | undefined> {
  if (!isCustom(kind)) return engine.messageTypes(kind.message, true);
  const { cache, key } = definitionsOf(registry, resourceOf(kind));
  const entry = cache.get(key);
  const { spec } = entry ? (cache.decoder.decode(entry) as CustomResourceDefinition) : {};
  const version = spec?.versions?.find(({ name }) => name === versionOf(kind.apiVersion));
  const { raw } = version?.schema?.openAPIV3Schema ?? {};
  if (!raw) return undefined;
  const { compileSchema } = await loadSchemaEngine();
  const { schema } = compileSchema(readSchema(raw), { path: 'schema', isStored: true });
  return schema && engine.withObjectMeta(engine.schemaTypes(schema.root, true));
}

function definitionsOf(registry: Registry, name: string) {
  const store = registry.store('CustomResourceDefinition');
  return { cache: store.cache, key: store.key({ namespace: '', name }) };
}
