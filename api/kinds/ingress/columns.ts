import type { Ingress } from '../../generated/types.ts';
import { ageColumn, firstOf, NONE, nameColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const text = (name: string, cell: Column<Ingress>['cell']): Column<Ingress> => ({ name, type: 'string', priority: 0, cell });

const hostsOf = ({ spec }: Ingress): string[] => (spec?.rules ?? []).flatMap(({ host }) => host || []);

const addressesOf = ({ status }: Ingress): string[] => [
  ...new Set((status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || [])),
];

export const ingressColumns: readonly Column<Ingress>[] = [
  nameColumn,
  text('CLASS', ({ spec }) => spec?.ingressClassName ?? NONE),
  text('HOSTS', (ingress) => firstOf(hostsOf(ingress)) || '*'),
  text('ADDRESS', (ingress) => addressesOf(ingress).join(',')),
  text('PORTS', ({ spec }) => (spec?.tls?.length ? '80, 443' : '80')),
  ageColumn,
];
