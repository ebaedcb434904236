import type { ContainerSecurity, PodNamespaces } from '../../agent/runtime/runtime.ts';

/** What a container gets whose pod says nothing about it. */
export const plainSecurity: ContainerSecurity = {
  user: undefined,
  groups: [],
  privileged: false,
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  capabilities: { add: [], drop: [] },
  seccomp: 'default',
  appArmor: undefined,
  unmaskedProc: false,
  seLinux: [],
};

export const plainNamespaces: PodNamespaces = { pid: 'container', ipc: 'pod', users: 'engine' };
