import type { NamesChange, NamesSnapshot, ServiceView } from '../names/changes.ts';

/** Completes what the resolver is told by the Service that no server has. */
export interface NamesService {
  snapshot(snapshot: NamesSnapshot): NamesSnapshot;
  change(change: NamesChange): NamesChange;
}

/**
 * The name of Kubernetes' name servers, which configurations of programs have (`resolver kube-dns.kube-system...` of
 * nginx). It leads to the address of the resolvers. A Service of that name takes its place.
 */
export function namesServiceAt(address: string): NamesService {
  const service: ServiceView = {
    ...{ namespace: 'kube-system', name: 'kube-dns', type: 'ClusterIP', clusterIPs: [address] },
    ports: [
      { name: 'dns', protocol: 'UDP', port: 53 },
      { name: 'dns-tcp', protocol: 'TCP', port: 53 },
    ],
  };
  const isOurs = ({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean =>
    namespace === service.namespace && name === service.name;
  const snapshot = (whole: NamesSnapshot): NamesSnapshot =>
    whole.services.some(isOurs) ? whole : { ...whole, services: [...whole.services, service] };
  return {
    snapshot,
    change(change) {
      if (change.kind === 'snapshot') return snapshot(change);
      return change.kind === 'delete-service' && isOurs(change.service) ? { kind: 'set-service', service } : change;
    },
  };
}
