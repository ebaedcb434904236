import type { ResourceQuota } from '../../generated/types.ts';
import { ageColumn, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** "pods: 2/10, requests.cpu: 500m/4": what is in use of each bound. */
function inUse({ status }: ResourceQuota, isShown: (name: string) => boolean): string {
  const names = Object.keys(status?.hard ?? {}).filter(isShown);
  const amounts = names
    .toSorted()
    .map((name) => `${name}: ${status?.used?.[name]?.string ?? '0'}/${status?.hard?.[name]?.string ?? '0'}`);
  return amounts.join(', ');
}

const isLimit = (name: string): boolean => name.startsWith('limits.');

export const resourceQuotaColumns: readonly Column<ResourceQuota>[] = [
  nameColumn,
  textColumn('REQUEST', (quota) => inUse(quota, (name) => !isLimit(name))),
  textColumn('LIMIT', (quota) => inUse(quota, isLimit)),
  ageColumn,
];
