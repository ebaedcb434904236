import { duplicate, forbidden, invalidValue, required } from '../../errors/violations.ts';
import type { DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection, VolumeSource } from '../../generated/types.ts';
import { labelNameError } from '../../meta/names.ts';
import {
  checkExactlyOne,
  checkNoBacksteps,
  checkOneOf,
  checkRange,
  checkRelativePath,
  checkRequired,
  checkRule,
  type Violations,
} from '../checks.ts';
import { amountError } from '../quantities.ts';
import { checkDownwardRef } from './validate-env.ts';

const HOST_PATH_TYPES = ['DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket', 'CharDevice', 'BlockDevice'];
const IMAGE_PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const MODE_MAX = 0o777;
const TOKEN_MIN_SECONDS = 600;

/** Every volume: a name of its own and exactly one source, whose fields make sense. */
export function checkVolumes(out: Violations, volumes: readonly Volume[] | undefined): void {
  if (!volumes) return;
  const seen = new Set<string>();
  volumes.forEach(({ name = '', volumeSource = {} }, i) => {
    const at = `spec.volumes[${i}]`;
    if (name === '') out.push(required(`${at}.name`));
    else checkRule(out, at, '.name', name, labelNameError(name));
    if (name !== '' && seen.has(name)) out.push(duplicate(`${at}.name`, name));
    seen.add(name);
    checkExactlyOne(out, at, volumeSource, 'one source such as emptyDir, configMap, secret or hostPath');
    checkSource(out, at, volumeSource);
  });
}

function checkSource(out: Violations, at: string, source: VolumeSource): void {
  const { hostPath, emptyDir, secret, configMap, projected, downwardAPI, persistentVolumeClaim, nfs, image } = source;
  if (hostPath) checkHostPath(out, `${at}.hostPath`, hostPath);
  if (emptyDir) checkEmptyDir(out, `${at}.emptyDir`, emptyDir);
  if (secret) checkFiles(out, `${at}.secret`, '.secretName', secret.secretName, secret);
  if (configMap) checkFiles(out, `${at}.configMap`, '.name', configMap.localObjectReference?.name, configMap);
  if (downwardAPI) {
    checkRange(out, at, '.downwardAPI.defaultMode', downwardAPI.defaultMode, 0, MODE_MAX);
    checkDownwardFiles(out, `${at}.downwardAPI`, downwardAPI.items);
  }
  if (projected) {
    checkRange(out, at, '.projected.defaultMode', projected.defaultMode, 0, MODE_MAX);
    checkProjections(out, `${at}.projected.sources`, projected.sources ?? []);
  }
  if (persistentVolumeClaim) checkRequired(out, at, '.persistentVolumeClaim.claimName', persistentVolumeClaim.claimName);
  if (nfs) checkNfs(out, `${at}.nfs`, nfs);
  if (image) checkOneOf(out, at, '.image.pullPolicy', image.pullPolicy, IMAGE_PULL_POLICIES);
}

export function checkHostPath(out: Violations, at: string, { path = '', type }: NonNullable<VolumeSource['hostPath']>): void {
  checkRequired(out, at, '.path', path);
  checkNoBacksteps(out, at, '.path', path);
  if (path !== '' && !path.startsWith('/')) out.push(invalidValue(`${at}.path`, path, 'must be an absolute path'));
  checkOneOf(out, at, '.type', type, HOST_PATH_TYPES);
}

function checkEmptyDir(out: Violations, at: string, { sizeLimit, medium = '' }: NonNullable<VolumeSource['emptyDir']>): void {
  if (sizeLimit) checkRule(out, at, '.sizeLimit', sizeLimit.string, amountError(sizeLimit));
  if (medium.startsWith('HugePages'))
    out.push(forbidden(`${at}.medium`, 'huge pages cannot be mounted; the folder would be on disk; "Memory" is fine'));
  else checkOneOf(out, at, '.medium', medium, ['Memory']);
}

function checkNfs(out: Violations, at: string, { server, path }: NonNullable<VolumeSource['nfs']>): void {
  checkRequired(out, at, '.server', server);
  checkRequired(out, at, '.path', path);
  if (path && !path.startsWith('/')) out.push(invalidValue(`${at}.path`, path, 'must be an absolute path'));
}

interface Files {
  items?: KeyToPath[];
  defaultMode?: number;
}

/** Sources that write the keys of an object as files. */
function checkFiles(
  out: Violations,
  at: string,
  nameField: string,
  name: string | undefined,
  { items, defaultMode }: Files,
): void {
  checkRequired(out, at, nameField, name);
  checkRange(out, at, '.defaultMode', defaultMode, 0, MODE_MAX);
  items?.forEach(({ key, path = '', mode }, i) => {
    const item = `${at}.items[${i}]`;
    checkRequired(out, item, '.key', key);
    checkFilePath(out, item, path);
    checkRange(out, item, '.mode', mode, 0, MODE_MAX);
  });
}

/** A file in a volume; names that begin with two dots are the volume's own. */
function checkFilePath(out: Violations, at: string, path: string): void {
  checkRequired(out, at, '.path', path);
  checkRelativePath(out, at, '.path', path);
  if (path.startsWith('..') && !path.split('/').includes('..'))
    out.push(invalidValue(`${at}.path`, path, 'must not start with ".."'));
}

function checkDownwardFiles(out: Violations, at: string, items: readonly DownwardAPIVolumeFile[] | undefined): void {
  items?.forEach(({ path = '', mode, fieldRef, resourceFieldRef }, i) => {
    const item = `${at}.items[${i}]`;
    checkFilePath(out, item, path);
    checkRange(out, item, '.mode', mode, 0, MODE_MAX);
    checkExactlyOne(out, item, { fieldRef, resourceFieldRef }, 'one of fieldRef, resourceFieldRef');
    checkDownwardRef(out, item, { fieldRef, resourceFieldRef }, 'volume');
  });
}

/** No two sources may give a file of the same path. */
function checkProjections(out: Violations, at: string, sources: readonly VolumeProjection[]): void {
  const seen = new Set<string>();
  const once = (at: string, path: string): void => {
    if (path !== '' && seen.has(path)) out.push(invalidValue(at, path, 'is the path of two files'));
    seen.add(path);
  };
  sources.forEach((source, i) => {
    const item = `${at}[${i}]`;
    checkProjection(out, item, source);
    for (const name of ['secret', 'configMap', 'downwardAPI'] as const)
      for (const { path = '' } of source[name]?.items ?? []) once(`${item}.${name}`, path);
    if (source.serviceAccountToken) once(`${item}.serviceAccountToken`, source.serviceAccountToken.path ?? '');
  });
}

function checkProjection(out: Violations, at: string, projection: VolumeProjection): void {
  const { secret, configMap, downwardAPI, serviceAccountToken } = projection;
  checkExactlyOne(
    out,
    at,
    projection,
    'one of secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate',
  );
  if (secret) checkFiles(out, `${at}.secret`, '.name', secret.localObjectReference?.name, secret);
  if (configMap) checkFiles(out, `${at}.configMap`, '.name', configMap.localObjectReference?.name, configMap);
  if (downwardAPI) checkDownwardFiles(out, `${at}.downwardAPI`, downwardAPI.items);
  if (serviceAccountToken) {
    checkFilePath(out, `${at}.serviceAccountToken`, serviceAccountToken.path ?? '');
    checkRange(out, at, '.serviceAccountToken.expirationSeconds', serviceAccountToken.expirationSeconds, TOKEN_MIN_SECONDS);
  }
}
