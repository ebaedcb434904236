import type { IngressClass } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

function parametersOf({ spec }: IngressClass): string {
  const { parameters } = spec ?? {};
  if (!parameters) return NONE;
  const { apiGroup, kind = '', name = '' } = parameters;
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}`;
}

export const ingressClassColumns: readonly Column<IngressClass>[] = [
  nameColumn,
  textColumn('CONTROLLER', ({ spec }) => spec?.controller ?? ''),
  textColumn('PARAMETERS', parametersOf),
  ageColumn,
];
