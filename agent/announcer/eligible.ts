import { chooseEndpoints } from '../service-table/choose-endpoints.ts';
import type { TableService } from '../service-table/service.ts';
import type { Eligible } from './decide.ts';

/**
 * Who may hold the address of a service: every node, or with externalTrafficPolicy Local those that have an endpoint
 * which gets connections. Pure.
 */
export function eligibleFor(service: TableService, own: string, nodes: readonly string[]): Eligible {
  if (service.externalPolicy !== 'Local') return { here: true, others: nodes.filter((node) => node !== own) };
  const serving = new Set(
    service.ports.flatMap(({ endpoints }) => {
      const chosen = chooseEndpoints(endpoints, service);
      return chosen === 'refused' || chosen === 'dropped' ? [] : chosen.endpoints.map(({ node }) => node);
    }),
  );
  // A node whose last endpoint terminates serves it while no other node has a ready one, as the table does.
  return { here: serving.has(own), others: [...serving].filter((node) => node !== own && node !== '') };
}
