import { join } from 'node:path';
import type { ConfigMap, KeyToPath, Secret, Volume } from '../../api/generated/types.ts';
import { quantityValue } from '../../api/meta/quantity.ts';

/** A file of a volume that is made from an object. */
export interface VolumeFile {
  /** Relative to the volume, with "/" between its parts; never leaves the volume. */
  readonly path: string;
  readonly data: Uint8Array;
  readonly mode: number;
}

/** What has to be there for one volume; `path` is what the containers mount. */
export type VolumeStep =
  | { readonly kind: 'directory'; readonly name: string; readonly path: string }
  | { readonly kind: 'memory'; readonly name: string; readonly path: string; readonly sizeBytes: number | undefined }
  | {
      readonly kind: 'files';
      readonly name: string;
      readonly path: string;
      readonly inMemory: boolean;
      readonly files: readonly VolumeFile[];
    }
  | { readonly kind: 'host-path'; readonly name: string; readonly path: string; readonly type: string };

/** Why a volume cannot be there yet. Everything but `unsupported` and `invalid` may come right when an object appears or changes. */
export interface VolumeProblem {
  readonly volume: string;
  readonly reason: 'not-found' | 'invalid' | 'unsupported' | 'failed';
  readonly message: string;
}

export interface VolumePlan {
  readonly steps: readonly VolumeStep[];
  readonly problems: readonly VolumeProblem[];
}

export interface VolumeInput {
  /** The pod's own folder: <data>/node/<node>/pods/<uid>. */
  readonly podDir: string;
  readonly volumes: readonly Volume[];
  /** The objects that the volumes name, by name, from the pod's namespace; those that do not exist are left out. */
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly secrets: ReadonlyMap<string, Secret>;
}

const defaultMode = 0o644;

/** Works out what a pod's volumes need on this machine. Pure; a problem with one volume leaves the others in the plan. */
export function computeVolumePlan(input: VolumeInput): VolumePlan {
  const steps: VolumeStep[] = [];
  const problems: VolumeProblem[] = [];
  for (const volume of input.volumes) {
    const planned = planVolume(input, volume);
    if ('reason' in planned) problems.push(planned);
    else steps.push(planned);
  }
  return { steps, problems };
}

function planVolume(input: VolumeInput, volume: Volume): VolumeStep | VolumeProblem {
  const name = volume.name ?? '';
  const source = volume.volumeSource ?? {};
  if (!isSafeName(name)) return problem(name, 'invalid', `volume "${name}": not a name for a folder`);
  if (source.emptyDir !== undefined) {
    const path = join(input.podDir, 'volumes', 'emptyDir', name);
    if (source.emptyDir.medium !== 'Memory') return { kind: 'directory', name, path };
    const { sizeLimit } = source.emptyDir;
    return { kind: 'memory', name, path, sizeBytes: sizeLimit === undefined ? undefined : quantityValue(sizeLimit) };
  }
  if (source.hostPath !== undefined) {
    const { path = '', type = '' } = source.hostPath;
    return path.startsWith('/')
      ? { kind: 'host-path', name, path, type }
      : problem(name, 'invalid', `volume "${name}": host path "${path}" is not absolute`);
  }
  if (source.configMap !== undefined) {
    const object = input.configMaps.get(source.configMap.localObjectReference?.name ?? '');
    const request = { name, path: join(input.podDir, 'volumes', 'configMap', name), inMemory: false, source: source.configMap };
    const what = `config map "${source.configMap.localObjectReference?.name ?? ''}"`;
    return planFiles(request, what, object && { ...encodeTexts(object.data), ...object.binaryData });
  }
  if (source.secret !== undefined) {
    const object = input.secrets.get(source.secret.secretName ?? '');
    const request = { name, path: join(input.podDir, 'volumes', 'secret', name), inMemory: true, source: source.secret };
    return planFiles(request, `secret "${source.secret.secretName ?? ''}"`, object && (object.data ?? {}));
  }
  return problem(name, 'unsupported', `volume "${name}": ${Object.keys(source)[0] ?? 'no'} source is not supported`);
}

interface FilesRequest {
  readonly name: string;
  readonly path: string;
  readonly inMemory: boolean;
  readonly source: { readonly items?: readonly KeyToPath[]; readonly defaultMode?: number; readonly optional?: boolean };
}

type Content = Readonly<Record<string, Uint8Array>>;

function planFiles(request: FilesRequest, what: string, content: Content | undefined): VolumeStep | VolumeProblem {
  const { name, source } = request;
  const optional = source.optional === true;
  if (content === undefined && !optional) return problem(name, 'not-found', `volume "${name}": ${what} does not exist`);
  const items = wantedItems(source.items, content ?? {});
  const files: VolumeFile[] = [];
  for (const { key = '', path = '', mode } of items) {
    const data = content?.[key];
    if (data === undefined && optional) continue;
    if (data === undefined) return problem(name, 'not-found', `volume "${name}": ${what} has no key "${key}"`);
    if (!isInside(path)) return problem(name, 'invalid', `volume "${name}": path "${path}" of key "${key}" leaves the volume`);
    files.push({ path, data, mode: mode ?? source.defaultMode ?? defaultMode });
  }
  return { kind: 'files', name, path: request.path, inMemory: request.inMemory, files };
}

/** Without items every key is a file of its own name. */
function wantedItems(items: readonly KeyToPath[] | undefined, content: Content): readonly KeyToPath[] {
  if (items !== undefined && items.length > 0) return items;
  return Object.keys(content).map((key) => ({ key, path: key }));
}

function encodeTexts(texts: Readonly<Record<string, string>> | undefined): Record<string, Uint8Array> {
  return Object.fromEntries(Object.entries(texts ?? {}).map(([key, text]) => [key, Buffer.from(text)]));
}

/** Names starting with two dots are the volume's own: "..data" is what makes an update atomic. */
function isInside(path: string): boolean {
  if (path === '' || path.startsWith('/') || path.includes('\0') || path.startsWith('..')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

export function isSafeName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
}

function problem(volume: string, reason: VolumeProblem['reason'], message: string): VolumeProblem {
  return { volume, reason, message };
}
