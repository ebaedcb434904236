import type { Pod } from '../../api/generated/types.ts';
import { ContainerConfigError } from './config-error.ts';

/** The domain of names in the cluster, as Kubernetes' installers set it. */
export const clusterDomain = 'cluster.local';

/** What a pod is called. */
export interface HostName {
  readonly hostname: string;
  /** What follows the host name in the full name; undefined when the pod has none. */
  readonly domain: string | undefined;
  /** What the kernel, and so `hostname`, says. */
  readonly kernel: string;
}

/** Kubernetes cuts names of pods here; the kernel takes one more. */
const longestLabel = 63;
const longestKernelName = 64;

/** Throws ContainerConfigError for a full name that the kernel does not take. Pure. */
export function computeHostName(pod: Pod): HostName {
  const { hostname, hostnameOverride, subdomain, setHostnameAsFQDN } = pod.spec ?? {};
  if (hostnameOverride) return { hostname: hostnameOverride, domain: undefined, kernel: hostnameOverride };
  const short = (hostname || pod.metadata?.name || '').slice(0, longestLabel).replace(/[-.]+$/, '');
  if (!subdomain) return { hostname: short, domain: undefined, kernel: short };
  const domain = `${subdomain}.${pod.metadata?.namespace ?? ''}.svc.${clusterDomain}`;
  const full = `${short}.${domain}`;
  if (setHostnameAsFQDN !== true) return { hostname: short, domain, kernel: short };
  if (full.length > longestKernelName) {
    const why = `FQDN ${full} is too long (${longestKernelName} characters is the max, ${full.length} characters requested)`;
    throw new ContainerConfigError(`failed to construct FQDN from pod hostname and cluster domain, ${why}`);
  }
  return { hostname: short, domain, kernel: full };
}
