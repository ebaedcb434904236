import { type ApiError, asApiError, permissionDenied } from '../../api/errors/index.ts';
import type { CertificateSigningRequest, ParamKind, ValidatingAdmissionPolicy } from '../../api/generated/types.ts';
import type { KindName } from '../../api/kinds/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { addressOfLease } from '../../api/meta/load-balancers.ts';
import { defaultServiceAccount } from '../../api/meta/well-known.ts';
import { type Identity, isMaster, isNode, nodeNameOf } from '../authn/identity.ts';
import type { Registry } from '../registry/registry.ts';
import { type Access, type Attributes, attributesOf, extraResources, type ResourceName } from './attributes.ts';
import { AddressLeases } from './node/address-leases.ts';
import { BalancedAddresses } from './node/balanced-addresses.ts';
import { checkNodeChange, checkNodeCreate, checkNodeNext } from './node/node-changes.ts';
import { NodeGraph } from './node/node-graph.ts';
import { nodeMay } from './node/node-rules.ts';
import { checkParamChange, type ParamQuestions } from './rbac/param-changes.ts';
import { checkRoleChange, type RoleQuestions } from './rbac/role-changes.ts';
import { RoleIndex } from './rbac/role-index.ts';
import type { RuleSet } from './rbac/rule-set.ts';

/**
 * The authorizer. Handlers call it once per call, or per item of a stream (CallContext.authorize); it decides from
 * memory. In this order: the group system:masters is always permitted; the node authorizer permits nodes; RBAC permits
 * users by their roles; everything else is denied.
 */
export class Authorizer {
  readonly index: RoleIndex;
  readonly graph: NodeGraph;
  readonly #addressLeases: AddressLeases;
  readonly #balanced: BalancedAddresses;
  readonly #stores: Registry['stores'];

  constructor({ stores, store }: Pick<Registry, 'stores' | 'store'>) {
    this.#stores = stores;
    const cacheOf = (kind: KindName) => stores.get(kind)?.cache;
    this.index = new RoleIndex({
      roles: cacheOf('Role'),
      clusterRoles: cacheOf('ClusterRole'),
      roleBindings: cacheOf('RoleBinding'),
      clusterRoleBindings: cacheOf('ClusterRoleBinding'),
    });
    this.graph = new NodeGraph(store('Pod').cache, cacheOf('PersistentVolume'));
    this.#addressLeases = new AddressLeases(cacheOf('Lease'));
    this.#balanced = new BalancedAddresses(cacheOf('Service'));
  }

  /**
   * Whether there is such a service account. Only "default" may be missing where its namespace is there: a controller
   * makes it a moment later.
   */
  hasAccount({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean {
    const [accounts, namespaces] = [this.#stores.get('ServiceAccount'), this.#stores.get('Namespace')];
    if (!accounts || accounts.cache.get(accounts.key({ namespace, name }))) return true;
    return (
      name === defaultServiceAccount && namespaces?.cache.get(namespaces.key({ namespace: '', name: namespace })) !== undefined
    );
  }

  /** Begins to follow the caches; the returned function ends it. */
  observe(): () => void {
    const ends = [this.index.observe(), this.graph.observe(), this.#addressLeases.observe(), this.#balanced.observe()];
    return () => {
      for (const end of ends) end();
    };
  }

  /** Throws PERMISSION_DENIED. */
  authorize(identity: Identity, access: Access): void {
    if (!this.may(identity, access)) throw this.#denied(identity, access);
  }

  /** For what is neither an object nor a resource: "/apis". Throws PERMISSION_DENIED. */
  authorizePath(identity: Identity, verb: string, path: string): void {
    if (this.mayPath(identity, verb, path)) return;
    throw permissionDenied(`user "${identity.user}" cannot ${verb} ${path}: ${hint}`, {
      of: 'path',
      user: identity.user,
      verb,
      path,
    });
  }

  may(identity: Identity, access: Access): boolean {
    return this.allows(identity, this.attributes(access));
  }

  /** Whether access is allowed, for attributes in the words of roles, as access reviews have them. */
  allows(identity: Identity, attributes: Attributes): boolean {
    if (isMaster(identity)) return true;
    const node = nodeNameOf(identity);
    if (node !== undefined && nodeMay(node, attributes, this.graph)) return true;
    return this.index.rulesOf(identity).allows(attributes);
  }

  mayPath(identity: Identity, verb: string, path: string): boolean {
    return isMaster(identity) || this.index.rulesOf(identity).allowsPath(verb, path);
  }

  rulesOf(identity: Identity): RuleSet {
    return this.index.rulesOf(identity);
  }

  /** The second half for a change, when the version it starts from is known. Throws PERMISSION_DENIED. */
  authorizeChange(identity: Identity, access: Access, previous: ApiObject): void {
    checkNodeChange(identity, access, previous);
  }

  /**
   * Authorizes a change once the new version of the object is known. Throws PERMISSION_DENIED, or FAILED_PRECONDITION
   * for an agent of another version.
   */
  authorizeNext(identity: Identity, access: Access, next: ApiObject, previous: ApiObject): void {
    if (isMaster(identity)) return;
    const address = access.kind === 'Lease' ? addressOfLease(access.name) : undefined;
    checkNodeNext(identity, access, {
      next,
      previous,
      ...(address !== undefined && {
        quietMs: this.#addressLeases.quietMs(access.name),
        hasService: this.#balanced.has(address),
      }),
    });
    checkRoleChange(this.#questions(identity), access, next, previous);
    checkParamChange(this.#paramQuestions(identity), access, next, previous);
    // Approval is a permission per signer.
    if (access.kind === 'CertificateSigningRequest' && access.verb.endsWith('-approval'))
      this.#authorizeSigner(identity, (next as CertificateSigningRequest).spec?.signerName ?? '');
  }

  #authorizeSigner(identity: Identity, signer: string): void {
    const ask = (name: string): Access => ({ verb: 'approve', kind: 'Signer', namespace: '', name });
    if (this.may(identity, ask(`${signer.slice(0, signer.indexOf('/'))}/*`))) return;
    this.authorize(identity, ask(signer));
  }

  /** The second half for what is new. Throws PERMISSION_DENIED. */
  authorizeCreate(identity: Identity, access: Access, object: ApiObject): void {
    if (isMaster(identity)) return;
    checkNodeCreate(identity, access, object);
    checkRoleChange(this.#questions(identity), access, object, undefined);
    checkParamChange(this.#paramQuestions(identity), access, object, undefined);
  }

  #questions(identity: Identity): RoleQuestions {
    return {
      user: identity.user,
      groups: identity.groups,
      held: this.index.rulesOf(identity),
      may: (access) => this.may(identity, access),
      rulesOfRole: (namespace, roleRef) => this.index.rulesOfRole(namespace, roleRef),
    };
  }

  #paramQuestions(identity: Identity): ParamQuestions {
    return {
      user: identity.user,
      allows: (attributes) => this.allows(identity, attributes),
      pluralOf: (paramKind) => this.#pluralOf(paramKind),
      policyOf: (name) => this.#policyOf(name),
    };
  }

  #pluralOf({ kind = '', apiVersion = '' }: ParamKind): string | undefined {
    try {
      return this.#stores.find({ kind, apiVersion }).kind.plural;
    } catch (error) {
      if (asApiError(error)) return undefined;
      throw error;
    }
  }

  #policyOf(name: string): ValidatingAdmissionPolicy | undefined {
    const store = this.#stores.get('ValidatingAdmissionPolicy');
    const entry = store?.cache.get(store.key({ namespace: '', name }));
    return entry && (store?.cache.decoder.decode(entry) as ValidatingAdmissionPolicy);
  }

  /** What an access is in the words of roles. */
  attributes(access: Access): Attributes {
    if (access.attributes) return access.attributes;
    const resource: ResourceName | undefined = this.#stores.get(access.kind)?.resource ?? extras[access.kind];
    // A handler that names nothing known is a mistake of ours, and lets in administrators alone.
    const { group } = access;
    const known = resource && group !== undefined ? { ...resource, group } : resource;
    return attributesOf(access, known ?? { group: 'unknown.berth.io', resource: access.kind });
  }

  #isClusterWide(kind: string): boolean {
    const store = this.#stores.get(kind);
    return store ? !store.kind.namespaced : Object.hasOwn(extras, kind);
  }

  #denied(identity: Identity, access: Access): ApiError {
    const { verb, group, resource, subresource } = this.attributes(access);
    const { namespace, kind } = access;
    const what = subresource === '' ? resource : `${resource}/${subresource}`;
    const where = namespace !== '' ? ` in the namespace "${namespace}"` : this.#isClusterWide(kind) ? '' : ' in all namespaces';
    const why = isNode(identity) ? 'a node may do only what it needs for itself and for its pods' : hint;
    const { user } = identity;
    return permissionDenied(`user "${user}" cannot ${verb} ${what}${where}: ${why}`, {
      ...{ of: 'access', user, verb, group, resource, subresource, namespace, name: access.name },
      why: isNode(identity) ? why : '',
    });
  }
}

const extras: Readonly<Record<string, ResourceName>> = extraResources;
const hint = 'no role allows it; berth auth can-i --list shows what you may do';
