import type { JsonObject } from '../../api/meta/merge-patch.ts';

/** What a container for looking around may do, under Kubernetes' names. */
export const profiles = {
  legacy: undefined,
  general: { capabilities: { add: ['SYS_PTRACE'] } },
  baseline: undefined,
  restricted: {
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
  netadmin: { capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } },
  sysadmin: { privileged: true },
} as const satisfies Record<string, JsonObject | undefined>;
