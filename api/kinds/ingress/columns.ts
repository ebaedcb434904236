import type { Ingress } from '../../generated/types.ts';
import { ageColumn, firstOf, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

const hostsOf = ({ spec }: Ingress): string[] => (spec?.rules ?? []).flatMap(({ host }) => host || []);

const addressesOf = ({ status }: Ingress): string[] => [
  ...new Set((status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || [])),
];

export const ingressColumns: readonly Column<Ingress>[] = [
  nameColumn,
  textColumn('CLASS', ({ spec }) => spec?.ingressClassName ?? NONE),
  textColumn('HOSTS', (ingress) => firstOf(hostsOf(ingress)) || '*'),
  textColumn('ADDRESS', (ingress) => addressesOf(ingress).join(',')),
  textColumn('PORTS', ({ spec }) => (spec?.tls?.length ? '80, 443' : '80')),
  ageColumn,
];
