import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Container, Pod } from '../../api/generated/types.ts';
import { storageLimit } from '../../api/kinds/pod/resources.ts';
import { formatMemory, quantityValue } from '../../api/meta/quantity.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import { messageFile } from '../pod/termination-messages.ts';
import { type ObservedContainer, sandboxName } from '../runtime/runtime.ts';
import { etcFiles } from './etc-files.ts';

/** What a pod, a container or a volume may take of the disk. */
export interface StorageLimit {
  readonly podUid: string;
  readonly limitBytes: number;
  /** The folders that count, which are measured piece by piece. */
  readonly folders: readonly string[];
  /**
   * Single files that count: logs with the older files that the engine keeps of them,
   * and what else a container may write to.
   */
  readonly files: readonly string[];
  /** Why the pod is evicted; `used` is in Kubernetes' units, e.g. "80Mi". */
  message(used: string): string;
}

const blockBytes = 512;
const mebibyte = 2 ** 20;
const kibibyte = 2 ** 10;
/** The files of a log that the engine keeps: the present one and, as its `max-file` says, two older ones. */
const logSuffixes = ['', '.1', '.2'] as const;

/**
 * All limits of a pod on the disk, in the order in which Kubernetes looks at them.
 * A limit of 0 for a volume is none, as there.
 */
export function storageLimits({ uid, pod, containers }: PodRecord, podDir: string): StorageLimit[] {
  if (pod === undefined) return [];
  const newest = newestContainers(containers.values());
  const parts = new Map([...newest].map(([name, container]) => [name, partsOf(container, podDir)]));
  return [...volumeLimits(uid, pod, podDir), ...podLimit(uid, pod, podDir, parts), ...containerLimits(uid, pod, parts)];
}

function volumeLimits(podUid: string, pod: Pod, podDir: string): StorageLimit[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name = '', volumeSource }) => {
    const { medium = '', sizeLimit } = volumeSource?.emptyDir ?? {};
    const limitBytes = quantityValue(sizeLimit);
    if (medium !== '' || sizeLimit === undefined || limitBytes <= 0) return [];
    const message = () => `Usage of EmptyDir volume "${name}" exceeds the limit "${sizeLimit.string ?? ''}".`;
    return [{ podUid, limitBytes, folders: [emptyDir(podDir, name)], files: [], message }];
  });
}

/**
 * As in Kubernetes the limits that there are count together for all of the pod, also where another container has none.
 */
function podLimit(podUid: string, pod: Pod, podDir: string, containers: ReadonlyMap<string, Parts>): StorageLimit[] {
  const limitBytes = storageLimit(pod);
  if (limitBytes === undefined) return [];
  const volumes = (pod.spec?.volumes ?? []).filter(({ volumeSource }) => volumeSource?.emptyDir && !volumeSource.emptyDir.medium);
  const folders = volumes.map(({ name = '' }) => emptyDir(podDir, name));
  const parts = [...containers.values()];
  return [
    {
      podUid,
      limitBytes,
      folders: [...folders, ...parts.flatMap((part) => part.folders)],
      // Containers share some of them.
      files: [...new Set([...Object.values(etcFiles(podDir)), ...parts.flatMap((part) => part.files)])],
      message: (used) =>
        `Pod ephemeral local storage usage exceeds the total limit of containers ${formatMemory(limitBytes)}. It uses ${used}.`,
    },
  ];
}

function containerLimits(podUid: string, pod: Pod, parts: ReadonlyMap<string, Parts>): StorageLimit[] {
  const all: Container[] = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return all.flatMap(({ name = '', resources }) => {
    const limit = resources?.limits?.['ephemeral-storage'];
    const own = parts.get(name);
    if (limit === undefined || own === undefined) return [];
    const message = (used: string) =>
      `Container ${name} exceeded its local ephemeral storage limit "${limit.string ?? ''}". It uses ${used}.`;
    return [{ podUid, limitBytes: quantityValue(limit), ...own, message }];
  });
}

const emptyDir = (podDir: string, name: string): string => join(podDir, 'volumes', 'emptyDir', name);

type Parts = Pick<StorageLimit, 'folders' | 'files'>;

/**
 * All that a container can write to on the disk, but for the pod's volumes:
 * every file that is left out is a way around its limit.
 */
function partsOf({ files, containerName, attempt }: ObservedContainer, podDir: string): Parts {
  const { writableLayer = [], log, imageVolumes = [], singleFiles = [] } = files ?? {};
  const logs = log === undefined ? [] : logSuffixes.map((suffix) => log + suffix);
  return {
    folders: [...imageVolumes, ...[writableLayer].flat()],
    files: [...logs, ...singleFiles, messageFile(podDir, containerName, attempt)],
  };
}

/** Of each name the last attempt: the remains of the one before are the node's, not the pod's. */
function newestContainers(containers: Iterable<ObservedContainer>): Map<string, ObservedContainer> {
  const newest = new Map<string, ObservedContainer>();
  for (const container of containers) {
    const { containerName: name, attempt } = container;
    if (name !== sandboxName && (newest.get(name)?.attempt ?? -1) < attempt) newest.set(name, container);
  }
  return newest;
}

/** What a single file takes on the disk; one that is missing takes nothing. */
export function fileBytes(path: string): number {
  return (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * blockBytes;
}

/** Rounded up to whole mebibytes, or kibibytes where it is less than ten of them. */
export function usedWords(bytes: number): string {
  return bytes >= 10 * mebibyte ? `${Math.ceil(bytes / mebibyte)}Mi` : `${Math.ceil(bytes / kibibyte)}Ki`;
}
