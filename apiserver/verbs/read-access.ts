import { isInvalid } from '../../api/errors/index.ts';
import { parseFieldSelector } from '../../api/meta/fields.ts';
import type { Access } from '../authz/attributes.ts';
import type { KindStore } from '../registry/kind-store.ts';

/**
 * What a request for several objects wants: with one name, or of one node, no more than those. A selector that cannot
 * be read, or is too long to be read, narrows nothing here; it is refused once the caller is let in.
 */
export function readAccess(
  verb: 'list' | 'watch' | 'delete-collection',
  { asked }: KindStore,
  namespace: string,
  { fieldSelector }: { readonly fieldSelector?: string },
): Access {
  const access = { verb, ...asked, namespace, name: '' };
  if (!fieldSelector) return access;
  return { ...access, selected: selectedFields(fieldSelector) };
}

function selectedFields(fieldSelector: string): Readonly<Record<string, string>> {
  const selected: Record<string, string> = {};
  try {
    for (const { field, operator, value } of parseFieldSelector(fieldSelector).requirements)
      if (operator === '=') selected[field] = value;
  } catch (error) {
    if (isInvalid(error)) return {};
    throw error;
  }
  return selected;
}
