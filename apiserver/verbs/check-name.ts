import { badRequest } from '../../api/errors/index.ts';
import type { KindStore, ObjectName } from '../registry/kind-store.ts';

/** The name that a request for one object must give. Throws INVALID_ARGUMENT. */
export function checkName({ kind }: KindStore, request: { namespace?: string; name?: string }): ObjectName {
  const { namespace = '', name = '' } = request;
  if (!name) throw badRequest(`name the ${kind.singular}`);
  if (kind.namespaced && !namespace) throw badRequest(`name the namespace of ${kind.singular} "${name}"`);
  if (!kind.namespaced && namespace) throw badRequest(`${kind.plural} do not live in namespaces: leave the namespace empty`);
  if (name.includes('/') || namespace.includes('/')) throw badRequest(`"${namespace}/${name}" is not a name`);
  return { namespace, name };
}
