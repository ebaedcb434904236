import { sysctlNamespace } from '../../api/kinds/pod/sysctls.ts';

/** Whether a kernel parameter is the one that the pattern names, or begins with what stands before its "*". */
export function matchesSysctl(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** What is wrong with a pattern of kernel parameters that a node is to allow; undefined when nothing is. */
export function sysctlPatternError(pattern: string): string | undefined {
  const name = pattern.replace(/\*$/, '');
  if (!/^[a-z0-9]([-_./a-z0-9]*)$/.test(name)) return 'is not the name of a kernel parameter, or a prefix of one and "*"';
  const namespace = sysctlNamespace(name);
  return namespace === 'net' || namespace === 'ipc'
    ? undefined
    : 'belongs to the whole machine: only parameters of the network and of IPC can be set for a pod';
}
