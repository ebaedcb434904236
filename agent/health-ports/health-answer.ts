import { splitKey } from '../../api/meta/key.ts';
import type { TableService } from '../service-table/service.ts';

export interface HealthAnswer {
  readonly status: 200 | 503;
  /** How many endpoints of the service are ready on the node. */
  readonly endpoints: number;
  readonly body: string;
}

/** What a load balancer is answered at a service's health port, in kube-proxy's words. `key`: namespace/name. Pure. */
export function healthAnswer(key: string, service: TableService, node: string): HealthAnswer {
  const { namespace, name } = splitKey(key);
  const ready = service.ports
    .flatMap(({ endpoints }) => endpoints)
    .filter((endpoint) => endpoint.node === node && (endpoint.ready || service.publishNotReadyAddresses));
  const localEndpoints = new Set(ready.map(({ address }) => address)).size;
  const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: true };
  return { status: localEndpoints > 0 ? 200 : 503, endpoints: localEndpoints, body: `${JSON.stringify(body)}\n` };
}
