import { join } from 'node:path';
import type { Node, Pod, Volume, VolumeSource } from '../../api/generated/types.ts';
import { podLimits } from '../../api/kinds/pod/resources.ts';
import { quantityValue } from '../../api/meta/quantity.ts';
import { accountVolumes, sizeProblem } from './account-volume.ts';
import { type Claimed, type ClaimedFolder, decideClaimedFolder } from './claimed-volume.ts';
import { modeForGroup, type Ownership } from './ownership.ts';
import {
  configMapFiles,
  downwardFiles,
  type FilesInput,
  type FilesResult,
  projectedFiles,
  secretFiles,
  type VolumeFile,
} from './volume-files.ts';

/** What has to be there for one volume; `path` is what the containers mount. */
export type VolumeStep = { readonly name: string; readonly path: string; readonly readOnly: boolean } & (
  | { readonly kind: 'directory' }
  | { readonly kind: 'memory'; readonly sizeBytes: number | undefined }
  | {
      readonly kind: 'files';
      readonly inMemory: boolean;
      /** Where it is instead in the memory that the pods of the node share, unless it has been made at `path`. */
      readonly sharedPath?: string;
      readonly files: readonly VolumeFile[];
    }
  | { readonly kind: 'host-path'; readonly type: string }
  | { readonly kind: 'local' }
  /** A folder that the agent makes when it is first used. */
  | { readonly kind: 'made' }
);

/**
 * Why a volume cannot be there yet. Everything but `unsupported` and `invalid` may come right when an object appears or
 * changes.
 */
export interface VolumeProblem {
  readonly volume: string;
  readonly reason: 'not-found' | 'invalid' | 'unsupported' | 'failed';
  readonly message: string;
  /** Where the volume is if it could be made before: for the pod's containers it then goes on as it was. */
  readonly madeAt?: string;
  /** See VolumeStep. */
  readonly sharedPath?: string;
}

export interface VolumePlan {
  readonly steps: readonly VolumeStep[];
  readonly problems: readonly VolumeProblem[];
}

/** The objects that the volumes name, by name, from the pod's namespace; those that do not exist are left out. */
export interface VolumeInput extends FilesInput {
  /** The pod's own folder: <data>/node/<node>/pods/<uid>. */
  readonly podDir: string;
  /** The same in the memory that the pods of the node share; absent: each volume in memory has one of its own. */
  readonly sharedDir?: string | undefined;
  readonly pod: Pod;
  readonly claims: ReadonlyMap<string, Claimed>;
  /** This machine's Node, where a claimed volume is only for some. */
  readonly node: Node | undefined;
  /** The group that the pod's volumes are given to, if any. */
  readonly ownership?: Ownership | undefined;
}

/**
 * Works out what a pod's volumes need on this machine. Pure; a problem with one volume leaves the others in the plan.
 */
export function computeVolumePlan(input: VolumeInput): VolumePlan {
  const steps: VolumeStep[] = [];
  const problems: VolumeProblem[] = [];
  const shared = input.sharedDir === undefined ? new Set<string>() : accountVolumes(input.pod);
  for (const volume of input.pod.spec?.volumes ?? []) {
    const planned = planVolume(input, volume, shared.has(volume.name ?? ''));
    if ('reason' in planned) problems.push(planned);
    else steps.push(input.ownership === undefined ? planned : readableByGroup(planned));
  }
  return { steps, problems };
}

/** The files of an object are for the group to read, whatever modes they ask for. */
function readableByGroup(step: VolumeStep): VolumeStep {
  if (step.kind !== 'files') return step;
  return { ...step, files: step.files.map((file) => ({ ...file, mode: modeForGroup(file.mode, 'file', true) })) };
}

function planVolume(input: VolumeInput, volume: Volume, isShared: boolean): VolumeStep | VolumeProblem {
  const { name = '', volumeSource: source = {} } = volume;
  if (!isSafeName(name)) return problem(name, 'invalid', 'not a name for a folder');
  if (source.emptyDir !== undefined) return planEmptyDir(input, name, source.emptyDir);
  if (source.hostPath !== undefined) {
    const { path = '', type = '' } = source.hostPath;
    return planFolder({ kind: 'host-path', path, type }, name, false);
  }
  if (source.persistentVolumeClaim !== undefined) {
    const { claimName = '', readOnly = false } = source.persistentVolumeClaim;
    const folder = decideClaimedFolder(claimName, input.claims.get(claimName), input.node);
    return 'reason' in folder ? problem(name, folder.reason, folder.message) : planFolder(folder, name, readOnly);
  }
  const made = filesOf(source, input);
  if (made === undefined) return problem(name, 'unsupported', `${Object.keys(source)[0] ?? 'no'} source is not supported`);
  const path = join(input.podDir, 'volumes', made.folder, name);
  const shared = isShared && input.sharedDir !== undefined ? { sharedPath: join(input.sharedDir, name) } : {};
  if ('reason' in made.files) return { ...problem(name, made.files.reason, made.files.message), madeAt: path, ...shared };
  const tooMuch = isShared ? sizeProblem(made.files) : undefined;
  if (tooMuch !== undefined) return { ...problem(name, 'invalid', tooMuch), madeAt: path, ...shared };
  const inMemory = made.folder === 'secret' || holdsSecrets(source);
  return { kind: 'files', name, path, ...shared, readOnly: true, inMemory, files: made.files };
}

function planEmptyDir(input: VolumeInput, name: string, emptyDir: NonNullable<VolumeSource['emptyDir']>): VolumeStep {
  const path = join(input.podDir, 'volumes', 'emptyDir', name);
  if (emptyDir.medium !== 'Memory') return { kind: 'directory', name, path, readOnly: false };
  const limit = emptyDir.sizeLimit === undefined ? undefined : quantityValue(emptyDir.sizeLimit);
  const sizeBytes = memoryVolumeBytes(limit, input.pod, input.allocatable.memoryBytes);
  return { kind: 'memory', name, path, readOnly: false, sizeBytes };
}

function planFolder(folder: ClaimedFolder, name: string, readOnly: boolean): VolumeStep | VolumeProblem {
  if (!folder.path.startsWith('/')) return problem(name, 'invalid', `path "${folder.path}" is not absolute`);
  if (folder.path.split('/').includes('..') || folder.path.includes('\0'))
    return problem(name, 'invalid', `path "${folder.path}" must not contain ".."`);
  return { ...folder, name, readOnly };
}

/** Undefined for a source that is not made of files. */
function filesOf(source: VolumeSource, input: FilesInput): { readonly folder: string; readonly files: FilesResult } | undefined {
  const { configMap, secret, downwardAPI, projected } = source;
  if (configMap)
    return { folder: 'configMap', files: configMapFiles(configMap.localObjectReference?.name ?? '', configMap, input) };
  if (secret) return { folder: 'secret', files: secretFiles(secret.secretName ?? '', secret, input) };
  if (downwardAPI) return { folder: 'downwardAPI', files: downwardFiles(downwardAPI.items, downwardAPI.defaultMode, input) };
  if (projected) return { folder: 'projected', files: projectedFiles(projected, input) };
  return undefined;
}

/** What is secret is never written to a disk. */
function holdsSecrets({ projected }: VolumeSource): boolean {
  return projected?.sources?.some(({ secret, serviceAccountToken }) => secret ?? serviceAccountToken) === true;
}

export function isSafeName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
}

function problem(volume: string, reason: VolumeProblem['reason'], why: string): VolumeProblem {
  return { volume, reason, message: `volume "${volume}": ${why}` };
}

/**
 * How large a volume in memory may get: what is left after the node's, the pod's and its own limit, as Kubernetes sizes
 * them. A volume that could outgrow its pod's limit would only get the pod's containers killed.
 */
function memoryVolumeBytes(sizeLimit: number | undefined, pod: Pod, allocatableBytes: number): number | undefined {
  const bounds = [sizeLimit ?? 0, podLimits(pod).memory ?? 0, allocatableBytes].filter((bytes) => bytes > 0);
  return bounds.length === 0 ? undefined : Math.min(...bounds);
}
