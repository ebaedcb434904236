/** The namespace of the kernel that a parameter belongs to. */
export type SysctlNamespace = 'ipc' | 'net' | 'uts';

const ipcNames = ['kernel.sem'];
const utsNames = ['kernel.hostname', 'kernel.domainname'];
const ipcPrefixes = ['kernel.shm', 'kernel.msg', 'fs.mqueue.'];

/**
 * A kernel parameter's name with dots between its parts. As sysctl(8) reads it the first separator decides: after a
 * slash, slashes separate, and the dots of a part (eth0.1) are written as slashes here.
 */
export function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  return first === '/' ? name.replace(/[./]/g, (sign) => (sign === '/' ? '.' : '/')) : name;
}

/** Undefined for a parameter of the whole machine. */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  const dotted = dottedSysctl(name);
  if (dotted.startsWith('net.')) return 'net';
  if (ipcNames.includes(dotted) || ipcPrefixes.some((prefix) => dotted.startsWith(prefix))) return 'ipc';
  return utsNames.includes(dotted) ? 'uts' : undefined;
}

/**
 * Kubernetes' safe ones: they change nothing outside of the pod, and cannot harm the node. Every kernel since 4.15 has
 * them.
 */
export const safeSysctls: readonly string[] = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
];
