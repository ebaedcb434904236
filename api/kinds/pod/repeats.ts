import type { Container, ObjectMeta, Pod, PodSpec } from '../../generated/types.ts';
import { annotations } from '../../meta/well-known.ts';
import type { Repeats } from '../kind.ts';
import { hasMatchLabelKeys } from './match-label-keys.ts';
import { tokenVolumePrefix } from './restore-admitted.ts';

/** ReplicaSets, Jobs and DaemonSets make pods by the thousand of one template. */
export const podRepeats: Repeats<Pod> = {
  drawnPrefix: tokenVolumePrefix,
  drawnText: ({ volumes }: PodSpec) => volumes?.findLast(({ name }) => name?.startsWith(tokenVolumePrefix))?.name,
  isPlainMetadata({ selfLink, annotations: said }: ObjectMeta) {
    if (selfLink !== undefined) return false;
    for (const key in said) if (key === annotations.configMirror || key.includes('.alpha.kubernetes.io/')) return false;
    return true;
  },
  // What labels ask of selectors is written into them.
  isPlainSpec: (spec: PodSpec) => !hasMatchLabelKeys(spec),
  // Admission sets members of the spec and of its containers, and changes nothing below these.
  copySpec(spec: PodSpec) {
    const copy = { ...spec };
    if (spec.containers) copy.containers = spec.containers.map(copyContainer);
    if (spec.initContainers) copy.initContainers = spec.initContainers.map(copyContainer);
    return copy;
  },
};

const copyContainer = (container: Container): Container => ({ ...container });
