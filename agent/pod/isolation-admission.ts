import type { Pod } from '../../api/generated/types.ts';
import { dottedSysctl, safeSysctls, sysctlNamespace } from '../../api/kinds/pod/sysctls.ts';
import { effectiveSecurity, everyContainer } from '../config/security.ts';
import { matchesSysctl } from '../config/sysctl-patterns.ts';
import type { Refusal } from './admission.ts';

/** What a node can and may do to keep pods apart. */
export interface NodeIsolation {
  /** Whether its kernel enforces AppArmor. */
  readonly appArmor: boolean;
  /** Kernel parameters beside the safe ones that pods may set: names, or prefixes that end in "*". */
  readonly allowedUnsafeSysctls: readonly string[];
}

/** Rejects a pod that this node cannot, or may not, isolate as specified. In Kubernetes' words; pure. */
export function decideIsolation(pod: Pod, node: NodeIsolation): Refusal | undefined {
  return forbiddenSysctl(pod, node) ?? missingAppArmor(pod, node);
}

function forbiddenSysctl(pod: Pod, node: NodeIsolation): Refusal | undefined {
  for (const { name = '' } of pod.spec?.securityContext?.sysctls ?? []) {
    const why = sysctlProblem(dottedSysctl(name), pod, node);
    if (why !== undefined) return { reason: 'SysctlForbidden', message: `forbidden sysctl: "${name}" ${why}` };
  }
  return undefined;
}

function sysctlProblem(name: string, pod: Pod, { allowedUnsafeSysctls }: NodeIsolation): string | undefined {
  const namespace = sysctlNamespace(name);
  if (namespace === 'net' && pod.spec?.hostNetwork === true) return 'not allowed with host net enabled';
  if (namespace === 'ipc' && pod.spec?.hostIPC === true) return 'not allowed with host ipc enabled';
  const allowed = [...safeSysctls, ...allowedUnsafeSysctls].some((pattern) => matchesSysctl(pattern, name));
  return allowed ? undefined : 'not allowlisted';
}

/**
 * A profile that the kernel does not enforce protects from nothing: as in Kubernetes, also the engine's default one
 * when it is asked for.
 */
function missingAppArmor(pod: Pod, { appArmor }: NodeIsolation): Refusal | undefined {
  if (appArmor) return undefined;
  const wants = everyContainer(pod).some((container) => {
    const { appArmorProfile } = effectiveSecurity(pod, container);
    return appArmorProfile !== undefined && appArmorProfile.type !== 'Unconfined';
  });
  if (!wants) return undefined;
  return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
}
