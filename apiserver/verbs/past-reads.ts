import { expired, permissionDenied } from '../../api/errors/index.ts';
import type { ListOptions } from '../../api/generated/types.ts';
import { isMaster, isNode } from '../authn/identity.ts';
import type { Access } from '../authz/attributes.ts';
import type { Eventually } from '../eventually.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { NamespaceBirths } from '../registry/namespace-births.ts';
import { continuedRevision } from '../registry/reads/continue-token.ts';
import { versionOf } from '../registry/reads/list.ts';
import type { Registry } from '../registry/registry.ts';
import { parseVersion } from '../registry/resource-version.ts';
import type { CallContext } from './call-context.ts';

type Reader = Pick<CallContext, 'identity' | 'authorizer'>;

/**
 * How far into the past a caller may read, after the roles of today have let them read the present. A right in a
 * namespace reaches back to the creation of the present namespace of that name, since an earlier one belonged to
 * another tenant; a right to list the kind in all namespaces reaches as far as the history. A node reads no older
 * versions of what its pods use.
 */
export class PastReads {
  readonly #births: NamespaceBirths;

  constructor({ store, storage }: Pick<Registry, 'store' | 'storage'>) {
    this.#births = new NamespaceBirths(store('Namespace').cache, storage);
  }

  /**
   * The oldest version that a read of one object's versions may show; 0: all that are kept. Throws PERMISSION_DENIED.
   */
  async oldest(access: Access, reader: Reader): Promise<number> {
    if (readsAllNamespaces(access, reader)) return 0;
    if (isNode(reader.identity))
      throw permissionDenied(`user "${reader.identity.user}" cannot read older versions: a node reads only present ones`);
    return this.#reach(access, reader);
  }

  /** Throws OUT_OF_RANGE for a version from before the present namespace, PERMISSION_DENIED. */
  checkExact(
    { resourceVersion = '', resourceVersionMatch }: Pick<ListOptions, 'resourceVersion' | 'resourceVersionMatch'>,
    access: Access,
    reader: Reader,
  ): Eventually<void> {
    if (resourceVersionMatch !== 'Exact') return undefined;
    const version = parseVersion(resourceVersion);
    return this.oldest(access, reader).then((oldest) => this.#compare(version, oldest, access));
  }

  /**
   * The same for a list, which is of exactly one version also where the request does not say so (`versionOf`), and for
   * later pages, whose tokens a client could forge.
   */
  async checkList(store: Pick<KindStore, 'kind'>, options: ListOptions, access: Access, reader: Reader): Promise<void> {
    if (!options.continue) {
      const { version, exact } = versionOf(store, options);
      if (exact) this.#compare(version, await this.oldest(access, reader), access);
      return;
    }
    const revision = continuedRevision(options.continue);
    // 0 is the present.
    if (revision && !readsAllNamespaces(access, reader)) this.#compare(revision, await this.#reach(access, reader), access);
  }

  /** The same for the events of a watch: everything after its version. */
  async checkWatch({ resourceVersion = '' }: ListOptions, access: Access, reader: Reader): Promise<void> {
    const version = parseVersion(resourceVersion);
    if (version === 0 || readsAllNamespaces(access, reader)) return;
    this.#compare(version, await this.#reach(access, reader), access);
  }

  async #reach(access: Access, { authorizer }: Reader): Promise<number> {
    const { namespace } = authorizer.attributes(access);
    return namespace === '' ? 0 : this.#births.of(namespace);
  }

  #compare(version: number, oldest: number, { namespace, name, selected }: Access): void {
    if (version >= oldest) return;
    const where = namespace || name || (selected?.['metadata.name'] ?? '');
    throw expired(
      oldest === Number.POSITIVE_INFINITY
        ? `cannot look back to version ${version}: there is no namespace "${where}"`
        : `cannot look back to version ${version}: the present namespace "${where}" exists since version ${oldest}, and what was there before is not shown`,
    );
  }
}

function readsAllNamespaces({ kind, group }: Access, { identity, authorizer }: Reader): boolean {
  return isMaster(identity) || authorizer.may(identity, { verb: 'list', kind, group, namespace: '', name: '' });
}
