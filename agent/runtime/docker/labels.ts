import type { ContainerIdentity } from '../runtime.ts';

/** Every container of ours carries these labels: they are all that an agent that starts again knows. */
export const label = {
  node: 'io.berth.node',
  podUid: 'io.berth.pod.uid',
  podName: 'io.berth.pod.name',
  podNamespace: 'io.berth.pod.namespace',
  gracePeriod: 'io.berth.pod.grace-period-seconds',
  containerName: 'io.berth.container.name',
  attempt: 'io.berth.container.attempt',
  restartsInRow: 'io.berth.container.restarts-in-row',
  specHash: 'io.berth.container.spec-hash',
} as const;

export type Labels = Readonly<Record<string, string>>;

const defaultGracePeriodSeconds = 30;

export function labelsOf(nodeName: string, identity: ContainerIdentity): Record<string, string> {
  return {
    [label.node]: nodeName,
    [label.podUid]: identity.podUid,
    [label.podName]: identity.podName,
    [label.podNamespace]: identity.podNamespace,
    [label.gracePeriod]: String(identity.gracePeriodSeconds),
    [label.containerName]: identity.containerName,
    [label.attempt]: String(identity.attempt),
    [label.restartsInRow]: String(identity.restartsInRow ?? 0),
    [label.specHash]: identity.specHash,
  };
}

/** Reads labels back. What is missing reads as empty or zero: such a container is still ours, and is swept as an unwanted one. */
export function identityOf(labels: Labels): ContainerIdentity {
  return {
    podUid: labels[label.podUid] ?? '',
    podName: labels[label.podName] ?? '',
    podNamespace: labels[label.podNamespace] ?? '',
    containerName: labels[label.containerName] ?? '',
    attempt: wholeNumber(labels[label.attempt], 0),
    restartsInRow: wholeNumber(labels[label.restartsInRow], 0),
    specHash: labels[label.specHash] ?? '',
    gracePeriodSeconds: wholeNumber(labels[label.gracePeriod], defaultGracePeriodSeconds),
  };
}

function wholeNumber(text: string | undefined, fallback: number): number {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : fallback;
}

export function hasLabels(actual: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => actual[key] === value);
}

// A container name has 63 characters at most, a namespace too; a pod's name may have 253 and is cut: the uid keeps names apart.
const longestPart = 63;

/** The engine's name for a container, for people who look with `docker ps`; nothing of ours relies on it. */
export function engineName(identity: ContainerIdentity): string {
  const parts = [identity.containerName, identity.podName, identity.podNamespace, identity.podUid, String(identity.attempt)];
  return ['berth', ...parts.map((part) => part.slice(0, longestPart).replace(/[^a-zA-Z0-9.-]/g, '-'))].join('_');
}
