import { posix } from 'node:path';
import type {
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  Pod,
  ProjectedVolumeSource,
  Secret,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../api/generated/types.ts';
import { type PodTokens, tokenKey } from '../config/account-tokens.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import { type Allocatable, resourceText, volumeFieldText } from '../config/downward.ts';
import type { PodObjects } from '../config/env.ts';
import { effectiveSecurity } from '../config/security.ts';
import { podContainers } from '../pod/pod-containers.ts';

/** A file of a volume that is made from an object. */
export interface VolumeFile {
  /** Relative to the volume, with "/" between its parts; never leaves the volume. */
  readonly path: string;
  readonly data: Uint8Array;
  readonly mode: number;
  /** The owner; absent: the agent's user. */
  readonly uid?: number | undefined;
}

/**
 * Why the files of a volume cannot be there; what `not-found` says may come right when an object appears or changes.
 */
export interface FilesProblem {
  readonly reason: 'not-found' | 'invalid' | 'unsupported';
  readonly message: string;
}

export type FilesResult = readonly VolumeFile[] | FilesProblem;

/** What files of volumes are made from. */
export interface FilesInput extends PodObjects {
  readonly pod: Pod;
  readonly allocatable: Allocatable;
  /** Tokens of the pod's account, where volumes show some. */
  readonly tokens?: PodTokens | undefined;
}

const fallbackMode = 0o644;

/** What the sources have in common that show the keys of an object. */
interface KeysSource {
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
  readonly defaultMode?: number;
}

export function configMapFiles(name: string, source: KeysSource, { configMaps }: PodObjects): FilesResult {
  const object: ConfigMap | undefined = configMaps.get(name);
  return keyFiles(`config map "${name}"`, source, object && { ...encodeTexts(object.data), ...object.binaryData });
}

export function secretFiles(name: string, source: KeysSource, { secrets }: PodObjects): FilesResult {
  const object: Secret | undefined = secrets.get(name);
  return keyFiles(`secret "${name}"`, source, object && (object.data ?? {}));
}

type Content = Readonly<Record<string, Uint8Array>>;

function keyFiles(what: string, source: KeysSource, content: Content | undefined): FilesResult {
  const optional = source.optional === true;
  if (content === undefined && !optional) return { reason: 'not-found', message: `${what} does not exist` };
  const files: VolumeFile[] = [];
  for (const { key = '', path = '', mode } of wantedItems(source.items, content ?? {})) {
    const data = content !== undefined && Object.hasOwn(content, key) ? content[key] : undefined;
    if (data === undefined && optional) continue;
    if (data === undefined) return { reason: 'not-found', message: `${what} has no key "${key}"` };
    const inside = insidePath(path);
    if (inside === undefined) return { reason: 'invalid', message: `path "${path}" of key "${key}" leaves the volume` };
    files.push({ path: inside, data, mode: mode ?? source.defaultMode ?? fallbackMode });
  }
  return files;
}

/** Without items every key is a file of its own name. */
function wantedItems(items: readonly KeyToPath[] | undefined, content: Content): readonly KeyToPath[] {
  if (items !== undefined && items.length > 0) return items;
  return Object.keys(content).map((key) => ({ key, path: key }));
}

function encodeTexts(texts: Readonly<Record<string, string>> | undefined): Record<string, Uint8Array> {
  return Object.fromEntries(Object.entries(texts ?? {}).map(([key, text]) => [key, Buffer.from(text)]));
}

/** Fields of the pod as files; they change when the pod does. */
export function downwardFiles(
  items: readonly DownwardAPIVolumeFile[] | undefined,
  defaultMode: number | undefined,
  { pod, allocatable }: FilesInput,
): FilesResult {
  const files: VolumeFile[] = [];
  for (const { path = '', mode, fieldRef, resourceFieldRef } of items ?? []) {
    const inside = insidePath(path);
    if (inside === undefined) return { reason: 'invalid', message: `path "${path}" leaves the volume` };
    try {
      const text = fieldRef
        ? volumeFieldText(fieldRef, pod)
        : resourceText(resourceFieldRef ?? {}, pod, undefined, { allocatable });
      files.push({ path: inside, data: Buffer.from(text), mode: mode ?? defaultMode ?? fallbackMode });
    } catch (error) {
      if (!(error instanceof ContainerConfigError)) throw error;
      return { reason: 'invalid', message: error.message };
    }
  }
  return files;
}

/** Several sources in one folder; of the same path the later one wins, which the API server rejects. */
export function projectedFiles({ sources = [], defaultMode }: ProjectedVolumeSource, input: FilesInput): FilesResult {
  const files = new Map<string, VolumeFile>();
  for (const source of sources) {
    const made = projectionFiles(source, defaultMode, input);
    if ('reason' in made) return made;
    for (const file of made) files.set(file.path, file);
  }
  return [...files.values()];
}

function projectionFiles(source: VolumeProjection, defaultMode: number | undefined, input: FilesInput): FilesResult {
  const mode = defaultMode === undefined ? {} : { defaultMode };
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap) return configMapFiles(configMap.localObjectReference?.name ?? '', { ...configMap, ...mode }, input);
  if (secret) return secretFiles(secret.localObjectReference?.name ?? '', { ...secret, ...mode }, input);
  if (downwardAPI) return downwardFiles(downwardAPI.items, defaultMode, input);
  if (serviceAccountToken) return tokenFile(serviceAccountToken, defaultMode, input);
  return { reason: 'unsupported', message: `source ${Object.keys(source)[0] ?? 'without a kind'} is not supported` };
}

const ownerOnly = 0o600;

/**
 * A token of the pod's account. As in Kubernetes it is for its owner only where an owner other than root is known: the
 * user as whom all containers run, or the pod's fsGroup, which then may read it too; else it has the volume's mode.
 */
function tokenFile(source: ServiceAccountTokenProjection, defaultMode: number | undefined, input: FilesInput): FilesResult {
  const path = insidePath(source.path ?? '');
  if (path === undefined) return { reason: 'invalid', message: `path "${source.path}" leaves the volume` };
  const shown = input.tokens?.get(tokenKey(source)) ?? { problem: 'there is no token' };
  if ('problem' in shown) return { reason: 'not-found', message: shown.problem };
  const { hostUsers, securityContext } = input.pod.spec ?? {};
  // In a namespace of users of its own a pod's users have other numbers on the machine;
  // only root can enter the folder anyway.
  const uid = hostUsers === false ? undefined : commonUser(input.pod);
  const isNarrow = hostUsers !== false && (uid !== undefined || securityContext?.fsGroup !== undefined);
  const mode = isNarrow ? ownerOnly : (defaultMode ?? fallbackMode);
  return [{ path, data: Buffer.from(shown.token), mode, ...(uid !== undefined && { uid }) }];
}

/** The common `runAsUser` of all containers of the pod, if there is one. */
function commonUser(pod: Pod): number | undefined {
  const users = new Set(podContainers(pod).map(({ container }) => effectiveSecurity(pod, container).runAsUser));
  const [user] = users;
  return users.size === 1 ? user : undefined;
}

/** The kernel's limits. */
const longestName = 255;
const longestPath = 4_096;

/**
 * The path of a file in a volume, in its plain form; undefined for one that is no place inside of it. Names starting
 * with two dots are the volume's own: "..data" is what makes an update atomic.
 */
export function insidePath(path: string): string | undefined {
  if (path === '' || path.startsWith('/') || path.includes('\0') || path.split('/').includes('..')) return undefined;
  const plain = posix.normalize(path).replace(/\/$/, '');
  if (plain === '.' || plain.startsWith('..') || Buffer.byteLength(plain) >= longestPath) return undefined;
  return plain.split('/').every((part) => Buffer.byteLength(part) <= longestName) ? plain : undefined;
}
