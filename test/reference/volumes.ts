import type { Node, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts';
import { labelOf, nameOf, nodesOf, podsOn, type World } from './world.ts';

/** Why no node at all will do. */
export function claimsProblem(world: World, pod: Pod): string | undefined {
  for (const name of claimNames(pod)) {
    const claim = world.claims.get(`${pod.metadata?.namespace}/${name}`);
    if (!claim) return `persistentvolumeclaim "${name}" not found`;
    if (claim.status?.phase !== 'Bound' && !isOpen(world, claim))
      return `pod has unbound immediate PersistentVolumeClaims: "${claim.metadata?.name}"`;
    const isAlone = claim.spec?.accessModes?.includes('ReadWriteOncePod');
    if (isAlone && nodesOf(world).some((node) => isUsedOn(world, node, pod, name)))
      return 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';
  }
  return undefined;
}

export function volumeFilter(world: World, pod: Pod, node: Node): string | undefined {
  const names = claimNames(pod);
  const claims = names.map((name) => world.claims.get(`${pod.metadata?.namespace}/${name}`)!);
  for (const { spec } of claims) {
    const host = world.volumes.get(spec?.volumeName ?? '')?.spec?.nodeAffinity?.required?.nodeSelectorTerms?.[0];
    const [value] = host?.matchExpressions?.[0]?.values ?? [];
    if (value !== undefined && labelOf(node, 'kubernetes.io/hostname') !== value)
      return 'node(s) had volume node affinity conflict';
  }
  for (const [i, { spec }] of claims.entries()) {
    if (spec?.accessModes?.includes('ReadWriteMany')) continue;
    const users = nodesOf(world).filter((other) => isUsedOn(world, other, pod, names[i]!));
    if (users.length > 0 && !users.some((other) => nameOf(other) === nameOf(node)))
      return 'node(s) had a ReadWriteOnce volume in use on another node';
  }
  const lacking = claims.filter((claim) => isOpen(world, claim) && !hasVolumeOn(world, claim, node));
  return lacking.length > 0 ? "node(s) didn't find available persistent volumes to bind" : undefined;
}

const classOf = (world: World, { spec }: PersistentVolumeClaim) => world.classes.get(spec?.storageClassName ?? '');

const isOpen = (world: World, claim: PersistentVolumeClaim): boolean =>
  claim.status?.phase !== 'Bound' && classOf(world, claim)?.volumeBindingMode === 'WaitForFirstConsumer';

const gigabytes = (quantity: { string?: string } | undefined): number => Number(quantity?.string?.replace('Gi', ''));

/**
 * Of all volumes one that will do is free and reached, or one can be made;
 * what was promised to another pod for the claim decides.
 */
function hasVolumeOn(world: World, claim: PersistentVolumeClaim, node: Node): boolean {
  const promised = world.promised.find(({ claimUid }) => claimUid === claim.metadata?.uid);
  if (promised && promised.volume === undefined) return promised.nodeName === nameOf(node);
  const found = [...world.volumes.values()].some(({ metadata, spec }) => {
    const isTaken = world.promised.some(({ volume }) => volume === metadata?.name);
    const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    const isReached = (term?.matchExpressions ?? []).every(({ key = '', values }) => values?.includes(labelOf(node, key) ?? ''));
    if (promised) return promised.volume === metadata?.name && isReached;
    return (
      spec?.storageClassName === claim.spec?.storageClassName &&
      gigabytes(spec?.capacity?.storage) >= gigabytes(claim.spec?.resources?.requests?.storage) &&
      claim.spec?.accessModes?.every((mode) => spec?.accessModes?.includes(mode)) &&
      isReached &&
      !isTaken
    );
  });
  const { provisioner, allowedTopologies = [] } = classOf(world, claim) ?? {};
  const isAllowed = allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key = '', values }) => values?.includes(labelOf(node, key) ?? '')),
  );
  return found || (!promised && provisioner !== 'kubernetes.io/no-provisioner' && isAllowed);
}

function claimNames({ spec }: Pod): string[] {
  return (spec?.volumes ?? []).flatMap((volume) => volume.volumeSource?.persistentVolumeClaim?.claimName ?? []);
}

function isUsedOn(world: World, node: Node, pod: Pod, name: string): boolean {
  return podsOn(world, node).some(
    (other) => other.metadata?.namespace === pod.metadata?.namespace && claimNames(other).includes(name),
  );
}
