import type { PersistentVolume, StorageClass } from '../../generated/types.ts';
import { annotations } from '../../meta/well-known.ts';

/** The provisioner of volumes that are folders of the nodes: Berth itself. */
export const localPathProvisioner = 'berth.io/local-path';
/** The same under the name that manifests written for K3s use. */
const localPathNames: readonly string[] = [localPathProvisioner, 'rancher.io/local-path'];

/** The provisioner of classes whose volumes people make. */
export const noProvisioner = 'kubernetes.io/no-provisioner';

/** The class that the API server makes at its first start, so that claims work as they are. */
export const localPathClass: StorageClass & { readonly metadata: { readonly name: string } } = {
  metadata: { name: 'local-path', annotations: { [annotations.defaultClass]: 'true' } },
  provisioner: localPathProvisioner,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
};

export function isLocalPath(provisioner: string | undefined): boolean {
  return provisioner !== undefined && localPathNames.includes(provisioner);
}

/** Whether an agent makes the volume's folder, and removes it with the data. */
export function isLocalPathVolume({ metadata, spec }: PersistentVolume): boolean {
  return spec?.persistentVolumeSource?.local !== undefined && isLocalPath(metadata?.annotations?.[annotations.provisionedBy]);
}

/** The only node that has the volume, by its name; undefined where the volume does not say so. */
export function nodeOfVolume({ spec }: PersistentVolume): string | undefined {
  const { nodeSelectorTerms = [] } = spec?.nodeAffinity?.required ?? {};
  const [{ matchExpressions = [], matchFields = [] } = {}] = nodeSelectorTerms;
  const [field] = matchFields;
  if (nodeSelectorTerms.length !== 1 || matchExpressions.length > 0 || matchFields.length !== 1) return undefined;
  return field?.key === 'metadata.name' && field.operator === 'In' && field.values?.length === 1 ? field.values[0] : undefined;
}

/** What `nodeOfVolume` reads. */
export function onlyOnNode(nodeName: string): NonNullable<PersistentVolume['spec']>['nodeAffinity'] {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }];
  return { required: { nodeSelectorTerms: [{ matchFields }] } };
}
