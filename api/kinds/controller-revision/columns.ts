import type { ControllerRevision } from '../../generated/types.ts';
import { controllerOf } from '../../meta/owner.ts';
import { ageColumn, NONE, nameColumn } from '../cells.ts';
import { groupKindOf } from '../identity.ts';
import type { Column } from '../kind.ts';

/** The controller of the revision: "statefulset.apps/web". */
function controllerCell(object: ControllerRevision): string {
  const owner = controllerOf(object);
  if (!owner) return NONE;
  const { apiVersion = '', kind = '', name = '' } = owner;
  return `${groupKindOf({ apiVersion, kind }).toLowerCase()}/${name}`;
}

export const controllerRevisionColumns: readonly Column<ControllerRevision>[] = [
  nameColumn,
  { name: 'CONTROLLER', type: 'string', priority: 0, cell: controllerCell },
  { name: 'REVISION', type: 'integer', priority: 0, cell: ({ revision }) => String(revision ?? 0) },
  ageColumn,
];
