import type { Pod } from '../../api/generated/types.ts';
import { computeHostName } from './host-name.ts';

const loopback = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/**
 * The /etc/hosts of a pod's containers, as Kubernetes' agent writes it: the pod's own names and its aliases, in the
 * machine's network below the machine's entries. Undefined where the machine's own will do, and where the pod has no
 * address yet. Pure.
 */
export function computeEtcHosts(pod: Pod, podIP: string | undefined, machineHosts: string): string | undefined {
  const aliases = (pod.spec?.hostAliases ?? []).map(({ ip = '', hostnames = [] }) => [ip, ...hostnames].join('\t'));
  const added = aliases.length === 0 ? [] : ['', '# Entries added by HostAliases.', ...aliases];
  if (pod.spec?.hostNetwork === true) {
    if (aliases.length === 0) return undefined;
    return lines(['# Kubernetes-managed hosts file (host network).', machineHosts.trimEnd(), ...added]);
  }
  if (podIP === undefined) return undefined;
  const { hostname, domain } = computeHostName(pod);
  const names = domain === undefined ? [hostname] : [`${hostname}.${domain}`, hostname];
  return lines(['# Kubernetes-managed hosts file.', ...loopback, [podIP, ...names].join('\t'), ...added]);
}

function lines(list: readonly string[]): string {
  return `${list.join('\n')}\n`;
}
