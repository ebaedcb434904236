import type { Container, ContainerRestartRule, Pod } from '../../api/generated/types.ts';
import type { PodContainer } from './pod-containers.ts';

/** Whether a container is run again that ended like this: its own rules, then its own policy, then that of the pod. */
export function mayRestart(pod: Pod, { role, container }: PodContainer, exitCode: number | undefined): boolean {
  if (role === 'sidecar') return true;
  if (role === 'ephemeral') return false;
  if (role === 'init' && exitCode === 0) return false;
  if (matchingRule(container, exitCode) !== undefined) return true;
  const policy = policyOf(pod, container);
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** Whether there is any end after which it would be run again, rules aside: they speak of exit codes only. */
export function restartsOnFailure(pod: Pod, { role, container }: PodContainer): boolean {
  return role === 'sidecar' || (role !== 'ephemeral' && policyOf(pod, container) !== 'Never');
}

/** Whether this exit triggers RestartAllContainers. */
export function restartsAll(container: Container, exitCode: number | undefined): boolean {
  return matchingRule(container, exitCode)?.action === 'RestartAllContainers';
}

function policyOf(pod: Pod, container: Container): string {
  return container.restartPolicy || pod.spec?.restartPolicy || 'Always';
}

/** The first rule that speaks of this exit code decides. */
function matchingRule(container: Container, exitCode: number | undefined): ContainerRestartRule | undefined {
  if (exitCode === undefined) return undefined;
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const named = exitCodes?.values?.includes(exitCode) ?? false;
    return exitCodes?.operator === 'NotIn' ? !named : named;
  });
}
