import type { IngressClass } from '../../generated/types.ts';
import { ageColumn, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

function parametersOf({ spec }: IngressClass): string {
  const { parameters } = spec ?? {};
  if (!parameters) return NONE;
  const { apiGroup, kind = '', name = '' } = parameters;
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}`;
}

export const ingressClassColumns: readonly Column<IngressClass>[] = [
  nameColumn,
  { name: 'CONTROLLER', type: 'string', priority: 0, cell: ({ spec }) => spec?.controller ?? '' },
  { name: 'PARAMETERS', type: 'string', priority: 0, cell: parametersOf },
  ageColumn,
];
