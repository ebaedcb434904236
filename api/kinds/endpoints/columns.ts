import type { Endpoints } from '../../generated/types.ts';
import { ageColumn, firstOf, NONE, nameColumn, textColumn } from '../cells.ts';
import type { Column } from '../kind.ts';

/** "10.0.0.1:80,10.0.0.2:80,[fd00::1]:80 + 5 more...": what serves. */
export function endpointsCell({ subsets = [] }: Endpoints): string {
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const hosts = addresses.map(({ ip = '' }) => (ip.includes(':') ? `[${ip}]` : ip));
    if (ports.length === 0) return addresses.map(({ ip = '' }) => ip);
    return ports.flatMap(({ port = 0 }) => hosts.map((host) => `${host}:${port}`));
  });
  return firstOf(all) || NONE;
}

export const endpointsColumns: readonly Column<Endpoints>[] = [nameColumn, textColumn('ENDPOINTS', endpointsCell), ageColumn];
