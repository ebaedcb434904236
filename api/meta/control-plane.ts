import { addressText, parseAddressRange } from './address-range.ts';
import { controlPlaneOffset } from './cluster-ranges.ts';

/** The Service with which pods reach the API server. Its port is the same wherever the server listens. */
export const controlPlaneService = { namespace: 'default', name: 'berth', portName: 'https', port: 443 } as const;

/** Whether that Service is the one of this namespace and name. */
export const isControlPlane = ({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean =>
  namespace === controlPlaneService.namespace && name === controlPlaneService.name;

/** The address of that Service: the first of the range. */
export const controlPlaneAddressOf = (serviceRange: string): string =>
  addressText(parseAddressRange(serviceRange).first + controlPlaneOffset);

/** Its name as pods of every namespace know it, whatever the cluster's domain is. */
export const controlPlaneName = `${controlPlaneService.name}.${controlPlaneService.namespace}.svc`;

/** Every name of it, which the server's certificate has. */
export function controlPlaneNames(clusterDomain: string): string[] {
  const { namespace, name } = controlPlaneService;
  return [name, `${name}.${namespace}`, controlPlaneName, `${controlPlaneName}.${clusterDomain}`];
}
