import type { Container, PodSpec } from '../../generated/types.ts';

/** The beginning of the names of volumes with the token of the pod's account. */
export const tokenVolumePrefix = 'kube-api-access-';

/** What admission, the scheduler or an account writes into a new pod, and nothing can change. */
const decided = ['priority', 'preemptionPolicy', 'priorityClassName', 'nodeName', 'overhead', 'imagePullSecrets'] as const;

/**
 * Puts back what the server has written into a pod and an update leaves out: a manifest that is applied again says
 * nothing of it.
 */
export function restoreAdmitted(next: PodSpec, previous: PodSpec): void {
  for (const name of decided)
    if (isUnsaid(next[name]) && !isUnsaid(previous[name])) Object.assign(next, { [name]: previous[name] });
  const { serviceAccountName } = previous;
  if (serviceAccountName && !next.serviceAccountName) next.serviceAccountName = next.serviceAccount = serviceAccountName;
  restoreToken(next, previous);
}

const isUnsaid = (value: unknown): boolean => value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

function restoreToken(next: PodSpec, previous: PodSpec): void {
  const volume = previous.volumes?.find(({ name = '' }) => name.startsWith(tokenVolumePrefix));
  if (!volume || next.volumes?.some(({ name }) => name === volume.name)) return;
  next.volumes = placed(next.volumes ?? [], volume, previous.volumes!.indexOf(volume));
  for (const list of ['initContainers', 'containers'] as const)
    for (const container of next[list] ?? []) {
      const before = previous[list]?.find(({ name }) => name === container.name);
      if (before) restoreMount(container, before, volume.name);
    }
}

function restoreMount(container: Container, { volumeMounts: before = [] }: Container, volume: string | undefined): void {
  const index = before.findIndex(({ name }) => name === volume);
  const mounts = container.volumeMounts ?? [];
  if (index < 0 || mounts.some(({ name, mountPath }) => name === volume || mountPath === before[index]!.mountPath)) return;
  container.volumeMounts = placed(mounts, before[index]!, index);
}

const placed = <T>(list: readonly T[], item: T, index: number): T[] => [...list.slice(0, index), item, ...list.slice(index)];
