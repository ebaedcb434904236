import { addressText, parseAddressRange } from './address-range.ts';
import { controlPlaneOffset, defaultNetwork, kubernetesOffset } from './cluster-ranges.ts';

/** The Service with which pods reach the API server. Its port is the same wherever the server listens. */
export const controlPlaneService = { namespace: 'default', name: 'berth', portName: 'https', port: 443 } as const;

/** The Service with which Kubernetes' clients in pods reach it, by Kubernetes' name. */
export const kubernetesService = { namespace: 'default', name: 'kubernetes', portName: 'https', port: 443 } as const;

/** Whether one of them is the one of this namespace and name. */
export const isControlPlane = ({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean =>
  [controlPlaneService, kubernetesService].some((each) => each.namespace === namespace && each.name === name);

/** The addresses of both, from the range of Services: the first and the second. */
export const controlPlaneAddressOf = (serviceRange: string): string => addressAt(serviceRange, controlPlaneOffset);
export const kubernetesAddressOf = (serviceRange: string): string => addressAt(serviceRange, kubernetesOffset);

const addressAt = (range: string, offset: number): string => addressText(parseAddressRange(range).first + offset);

/** Its name as pods of every namespace know it, whatever the cluster's domain is. */
export const controlPlaneName = `${controlPlaneService.name}.${controlPlaneService.namespace}.svc`;

/**
 * Every name of both Services, which the server's certificate has. Kubernetes' clients may know the name below
 * Kubernetes' own domain whatever the cluster's is.
 */
export function controlPlaneNames(clusterDomain: string): string[] {
  const domains = new Set([clusterDomain, defaultNetwork.clusterDomain]);
  return [...namesOf(controlPlaneService, [clusterDomain]), ...namesOf(kubernetesService, [...domains])];
}

function namesOf(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  domains: readonly string[],
): string[] {
  const inCluster = `${name}.${namespace}.svc`;
  return [name, `${name}.${namespace}`, inCluster, ...domains.map((domain) => `${inCluster}.${domain}`)];
}
