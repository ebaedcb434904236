import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, rm, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Container, Pod } from '../../api/generated/types.ts';
import type { Logger } from '../../client/logger.ts';
import type { ContainerAccess, Mount, ObservedContainer } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { hasEnded } from './observation.ts';
import type { PodRecord } from './pod-record.ts';

export interface TerminationMessagesOptions {
  /** The pod's own folder on this machine. */
  readonly podDir: (podUid: string) => string;
  readonly access: Pick<ContainerAccess, 'logs'>;
  readonly logger: Logger;
}

/** The last words of containers: a file that each may write to, read when it has ended, or else the end of its log. */
export interface TerminationMessages {
  /** Makes the file anew for a container that is about to start; undefined when it wants none or there can be none. */
  prepare(pod: Pod, container: Container, attempt: number): Promise<Mount | undefined>;
  /** Reads what those that have ended left, once each, into the record. Throws RuntimeError when the engine is away. */
  collect(record: PodRecord): Promise<void>;
}

/**
 * Kubernetes' figures: of a file its last 4096 bytes, of a log its last 2048 bytes or 80 lines, of all containers of a
 * pod 12 KiB.
 */
const maxFileBytes = 4096;
const maxLogBytes = 2048;
const maxLogLines = 80;
const maxPodBytes = 12 * 1024;
/** A log that takes longer to read is given up. */
const logTimeoutMs = 10_000;

/** Where a container's last words are, below its pod's folder. The container may write to it as much as it likes. */
export const messageFile = (podDir: string, name: string, attempt: number): string =>
  join(podDir, 'containers', name, String(attempt));

export function createTerminationMessages({ podDir, access, logger }: TerminationMessagesOptions): TerminationMessages {
  const fileOf = (podUid: string, name: string, attempt: number) => messageFile(podDir(podUid), name, attempt);

  async function read(pod: Pod, spec: Pick<Container, MessageFields>, ended: ObservedContainer): Promise<string> {
    const text = spec.terminationMessagePath ? await readEnd(fileOf(ended.podUid, ended.containerName, ended.attempt)) : '';
    const wantsLog = spec.terminationMessagePolicy === 'FallbackToLogsOnError' && ended.exitCode !== 0 && ended.error === '';
    return cutToShare(text === '' && wantsLog ? await readLog(ended.id) : text, pod);
  }

  async function readLog(id: string): Promise<string> {
    const options = { follow: false, tailLines: maxLogLines, sinceTime: undefined, timestamps: false, limitBytes: undefined };
    let end: Buffer = Buffer.alloc(0);
    try {
      for await (const chunk of access.logs(id, options, AbortSignal.timeout(logTimeoutMs)))
        end = Buffer.concat([end, chunk]).subarray(-maxLogBytes);
    } catch (error) {
      if (error instanceof RuntimeError && error.code === 'unavailable') throw error;
      return '';
    }
    return end.toString('utf8');
  }

  return {
    async prepare(pod, { name = '', terminationMessagePath }, attempt) {
      if (!terminationMessagePath) return undefined;
      const uid = pod.metadata?.uid ?? '';
      const file = fileOf(uid, name, attempt);
      try {
        await mkdir(dirname(file), { recursive: true, mode: 0o750 });
        await writeFile(file, '');
        // Containers run as any user; the pod's folder above it is root's only.
        await chmod(file, 0o666);
        // Of dead containers the last one is kept.
        await rm(fileOf(uid, name, attempt - 2), { force: true });
      } catch (err) {
        logger.warn(
          { pod: pod.metadata?.name, container: name, err },
          'no file for the last words of a container; it starts without',
        );
        return undefined;
      }
      const containerPath = posix.resolve('/', terminationMessagePath);
      return { hostPath: file, containerPath, readOnly: false, propagation: 'rprivate' };
    },
    async collect(record) {
      const { pod, containers, messages } = record;
      for (const id of messages.keys()) if (!containers.has(id)) messages.delete(id);
      if (pod === undefined) return;
      for (const container of containers.values()) {
        if (!hasEnded(container) || messages.has(container.id)) continue;
        const spec = specOf(pod, container.containerName);
        if (spec !== undefined) messages.set(container.id, await read(pod, spec, container));
      }
    },
  };
}

type MessageFields = 'terminationMessagePath' | 'terminationMessagePolicy';

function specsOf({ spec }: Pod): readonly Pick<Container, MessageFields | 'name'>[] {
  const ephemeral = (spec?.ephemeralContainers ?? []).map(({ ephemeralContainerCommon = {} }) => ephemeralContainerCommon);
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? []), ...ephemeral];
}

function specOf(pod: Pod, name: string): Pick<Container, MessageFields> | undefined {
  return specsOf(pod).find((container) => container.name === name);
}

/** Each container has an equal share of what one pod may say. */
function cutToShare(text: string, pod: Pod): string {
  const share = Math.floor(maxPodBytes / Math.max(1, specsOf(pod).length));
  const bytes = Buffer.from(text);
  return bytes.length <= share ? text : bytes.toString('utf8', 0, share);
}

/** The end of a file that a container wrote. */
async function readEnd(path: string): Promise<string> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const from = Math.max(0, (await file.stat()).size - maxFileBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxFileBytes), 0, maxFileBytes, from);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? '' : `Error on reading termination log: ${message}`;
  } finally {
    await file?.close();
  }
}
