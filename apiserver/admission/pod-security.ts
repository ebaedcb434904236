import { objectForbidden } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { type PodSecurityPolicy, podSecurityPolicy } from '../../api/kinds/namespace/pod-security-labels.ts';
import { type PodSecurityLevel, podSecurityViolations } from '../../api/kinds/pod/pod-security.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { andThen, type Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';
import type { NamespaceReader } from './namespace-lifecycle.ts';

/**
 * As in Kubernetes: the labels pod-security.kubernetes.io/enforce and warn of a namespace say which pods may be in it.
 * Judged are new pods, and pods that get ephemeral containers; nothing else that decides can change later. A mirror of
 * a static pod is judged as well; the static pod itself runs all the same, because its node does not ask the server.
 */
export function podSecurityRules(readNamespace: NamespaceReader): Admission {
  const policyOf = (pod: Pod): Eventually<PodSecurityPolicy | undefined> =>
    andThen(readNamespace(pod.metadata?.namespace ?? ''), (namespace) => namespace && podSecurityPolicy(namespace));
  return {
    create(kind, object, warn) {
      if (!isKind(kind, 'Pod')) return undefined;
      return andThen(policyOf(object as Pod), (policy) => {
        if (policy === undefined) return;
        enforce(object as Pod, policy.enforce);
        const problem = describe(object as Pod, policy.warn);
        if (problem !== undefined) warn?.(`would violate PodSecurity "${policy.warn}:latest": ${problem}`);
      });
    },
    async update(kind, next, previous) {
      if (!isKind(kind, 'Pod')) return;
      const [after, before] = [next as Pod, previous as Pod];
      if (equalValues(after.spec?.ephemeralContainers, before.spec?.ephemeralContainers)) return;
      enforce(after, (await policyOf(after))?.enforce ?? 'privileged');
    },
  };
}

function enforce(pod: Pod, level: PodSecurityLevel): void {
  const problem = describe(pod, level);
  if (problem === undefined) return;
  const name = pod.metadata?.name || pod.metadata?.generateName;
  throw objectForbidden('pods', name ?? '', `violates PodSecurity "${level}:latest": ${problem}`);
}

function describe(pod: Pod, level: PodSecurityLevel): string | undefined {
  const found = podSecurityViolations(pod.spec ?? {}, level);
  return found.length === 0 ? undefined : found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');
}
