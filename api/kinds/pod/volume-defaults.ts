import type { Volume, VolumeProjection, VolumeSource } from '../../generated/types.ts';

/** 0644, as Kubernetes gives to files of volumes. */
const FILE_MODE = 0o644;
const TOKEN_SECONDS = 3600;

/** A volume without a source is an empty directory; sources get Kubernetes' defaults. */
export function defaultVolume(volume: Volume): void {
  volume.volumeSource ??= {};
  const source = volume.volumeSource;
  if (!hasSource(source)) source.emptyDir = {};
  for (const files of [source.configMap, source.secret, source.downwardAPI, source.projected])
    if (files) files.defaultMode ??= FILE_MODE;
  if (source.hostPath) source.hostPath.type ??= '';
  source.downwardAPI?.items?.forEach(defaultFieldRef);
  source.projected?.sources?.forEach(defaultProjection);
  defaultNetworkSources(source);
}

function hasSource(source: VolumeSource): boolean {
  for (const name in source) if (source[name as keyof VolumeSource]) return true;
  return false;
}

function defaultFieldRef({
  fieldRef,
  resourceFieldRef,
}: NonNullable<NonNullable<VolumeSource['downwardAPI']>['items']>[number]): void {
  if (fieldRef) fieldRef.apiVersion ||= 'v1';
  if (resourceFieldRef) resourceFieldRef.divisor ??= { string: '0' };
}

function defaultProjection({ downwardAPI, serviceAccountToken }: VolumeProjection): void {
  downwardAPI?.items?.forEach(defaultFieldRef);
  if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= TOKEN_SECONDS;
}

/** Sources that need a service elsewhere: Berth warns of them or refuses them, but stores them as Kubernetes would. */
function defaultNetworkSources({ iscsi, rbd, azureDisk, scaleIO }: VolumeSource): void {
  if (iscsi) iscsi.iscsiInterface ||= 'default';
  if (rbd) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (azureDisk) {
    azureDisk.cachingMode ||= 'ReadWrite';
    azureDisk.kind ||= 'Shared';
    azureDisk.fsType ||= 'ext4';
    azureDisk.readOnly ??= false;
  }
  if (scaleIO) {
    scaleIO.storageMode ||= 'ThinProvisioned';
    scaleIO.fsType ||= 'xfs';
  }
}
