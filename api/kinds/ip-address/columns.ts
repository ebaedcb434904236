import type { IPAddress } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** "services/default/kubernetes". */
function parentOf({ spec: { parentRef } = {} }: IPAddress): string {
  if (!parentRef) return NONE;
  const { group, resource = '', namespace, name = '' } = parentRef;
  const kind = group ? `${resource}.${group}` : resource;
  return [kind.toLowerCase(), ...(namespace ? [namespace] : []), name].join('/');
}

export const ipAddressColumns: readonly Column<IPAddress>[] = [nameColumn, textColumn('PARENTREF', parentOf), ageColumn];
