import type { Container, Pod } from '../../../api/generated/types.ts';

/** What a pod makes its node read, each as "plural/name" in the pod's namespace. Pure. */
export function referencesOf({ spec = {} }: Pod): Set<string> {
  const found = new Set<string>();
  const add = (resource: string, name: string | undefined): void => {
    if (name) found.add(`${resource}/${name}`);
  };
  add('serviceaccounts', spec.serviceAccountName);
  for (const { name } of spec.imagePullSecrets ?? []) add('secrets', name);
  for (const container of containersOf(spec)) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      add('configmaps', configMapRef?.localObjectReference?.name);
      add('secrets', secretRef?.localObjectReference?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      add('configmaps', valueFrom?.configMapKeyRef?.localObjectReference?.name);
      add('secrets', valueFrom?.secretKeyRef?.localObjectReference?.name);
    }
  }
  for (const { volumeSource } of spec.volumes ?? []) {
    add('configmaps', volumeSource?.configMap?.localObjectReference?.name);
    add('secrets', volumeSource?.secret?.secretName);
    add('persistentvolumeclaims', volumeSource?.persistentVolumeClaim?.claimName);
    for (const { configMap, secret } of volumeSource?.projected?.sources ?? []) {
      add('configmaps', configMap?.localObjectReference?.name);
      add('secrets', secret?.localObjectReference?.name);
    }
  }
  return found;
}

function containersOf({ initContainers = [], containers = [], ephemeralContainers = [] }: NonNullable<Pod['spec']>): Container[] {
  const added = ephemeralContainers.map(({ ephemeralContainerCommon }) => (ephemeralContainerCommon ?? {}) as Container);
  return [...initContainers, ...containers, ...added];
}
