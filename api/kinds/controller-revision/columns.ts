import type { ControllerRevision } from '../../generated/types.ts';
import { controllerOf } from '../../meta/owner.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
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
  textColumn('CONTROLLER', controllerCell),
  { name: 'REVISION', type: 'integer', priority: 0, cell: ({ revision }) => String(revision ?? 0) },
  ageColumn,
];
