import type { ValidatingAdmissionPolicyBinding } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

export const validatingAdmissionPolicyBindingColumns: readonly Column<ValidatingAdmissionPolicyBinding>[] = [
  nameColumn,
  textColumn('POLICYNAME', ({ spec }) => spec?.policyName || NONE),
  textColumn('PARAMREF', ({ spec: { paramRef } = {} }) => {
    if (!paramRef) return NONE;
    const name = paramRef.name || '*';
    return paramRef.namespace ? `${paramRef.namespace}/${name}` : name;
  }),
  ageColumn,
];
