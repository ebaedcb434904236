import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';

/** Whether objects of a kind have a subresource; throws INVALID_ARGUMENT with those that they have. */
export function checkSubresource(kind: Kind, subresource: string | undefined): void {
  if (subresource === undefined) return;
  const known = [
    ...(kind.hasStatus ? ['status'] : []),
    ...(kind.scale ? ['scale'] : []),
    ...Object.keys(kind.subresources ?? {}),
  ];
  if (known.includes(subresource)) return;
  const there = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  throw badRequest(`a ${kind.singular} has no subresource "${subresource}": ${there}`);
}
