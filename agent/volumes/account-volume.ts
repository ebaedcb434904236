import type { Pod, ProjectedVolumeSource } from '../../api/generated/types.ts';
import { rootCertificates } from '../../api/meta/well-known.ts';
import type { VolumeFile } from './volume-files.ts';

/** Fields of a pod that are names. */
const smallFields = new Set(['metadata.namespace', 'metadata.name', 'metadata.uid', 'spec.serviceAccountName', 'spec.nodeName']);
/** Pods get one for their account; what has more of them does not use up what all share. */
const mostOfPod = 2;
/** The files of such a volume, in whole pages: a token, the authorities and a name take three or four. */
const mostBytes = 65_536;
const pageBytes = 4_096;

/** Whether a volume shows a token of the pod's account and little else: what every pod gets that may call the API. */
function isAccountVolume({ sources = [] }: ProjectedVolumeSource): boolean {
  const isSmall = sources.every(({ serviceAccountToken, configMap, downwardAPI }) => {
    if (configMap !== undefined) return configMap.localObjectReference?.name === rootCertificates.configMap;
    if (downwardAPI === undefined) return serviceAccountToken !== undefined;
    return downwardAPI.items?.every(({ fieldRef }) => smallFields.has(fieldRef?.fieldPath ?? '')) === true;
  });
  return isSmall && sources.some(({ serviceAccountToken }) => serviceAccountToken !== undefined);
}

/** The names of the pod's volumes that live in the memory that all pods of the node share. It never changes. */
export function accountVolumes({ spec }: Pod): ReadonlySet<string> {
  const all = (spec?.volumes ?? []).filter(({ volumeSource }) => {
    return volumeSource?.projected !== undefined && isAccountVolume(volumeSource.projected);
  });
  return new Set(all.slice(0, mostOfPod).map(({ name = '' }) => name));
}

/** Why they cannot all be there; undefined when they can. */
export function sizeProblem(files: readonly VolumeFile[]): string | undefined {
  const bytes = files.reduce((sum, { data }) => sum + Math.max(1, Math.ceil(data.length / pageBytes)) * pageBytes, 0);
  return bytes > mostBytes
    ? `its files take ${bytes} bytes, more than the ${mostBytes} of a volume with a service account's token`
    : undefined;
}
