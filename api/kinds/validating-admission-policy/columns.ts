import type { ValidatingAdmissionPolicy } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const validatingAdmissionPolicyColumns: readonly Column<ValidatingAdmissionPolicy>[] = [
  nameColumn,
  { name: 'VALIDATIONS', type: 'integer', priority: 0, cell: ({ spec }) => String(spec?.validations?.length ?? 0) },
  textColumn('PARAMKIND', ({ spec: { paramKind } = {} }) =>
    paramKind ? `${paramKind.apiVersion ?? ''}/${paramKind.kind ?? ''}` : NONE,
  ),
  ageColumn,
];
