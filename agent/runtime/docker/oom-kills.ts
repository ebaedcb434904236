import { closeSync, constants, openSync, readSync } from 'node:fs';
import { createLru } from '../../../api/meta/lru.ts';

/**
 * The containers of which a process was killed for memory. The engine learns of such a kill from a notice of the
 * container's cgroup, and misses it when the container has only just begun, or is gone before the notice was read; the
 * kernel writes every one into its log before it kills.
 */
export interface OomKills {
  /**
   * Whether a process of this container was killed for memory, as far as the kernel's log still tells.
   * Costs one read when nothing is new.
   */
  has(containerId: string): boolean;
  /** The engine said so after all, in an event that came after the end. */
  note(containerId: string): void;
  close(): void;
}

/** The next record of the kernel's log, or undefined when there is none yet. Throws when there is no log to read. */
export type ReadRecord = () => string | undefined;

// Containers that are long gone are forgotten.
const remembered = 1_000;

export function createOomKills(log: { read: ReadRecord; close(): void } = openKernelLog()): OomKills {
  const killed = createLru<true>(remembered);
  let readable = true;

  function readOn(): void {
    try {
      for (let record = log.read(); record !== undefined; record = log.read())
        for (const id of killedContainers(record)) killed.set(id, true);
    } catch {
      // Not root, or a machine that hides the log: the engine's word is all there is.
      readable = false;
    }
  }

  return {
    has(containerId) {
      if (readable) readOn();
      return killed.get(containerId) === true;
    },
    note: (containerId) => killed.set(containerId, true),
    close: () => log.close(),
  };
}

// "6,992,686299432,-;oom-kill:constraint=...,task_memcg=/docker/<id>,task=tail,pid=1,uid=0":
// only the kernel itself writes levels below 8.
const report = /^[0-7],[^;]*;oom-kill:.*?,task_memcg=([^,]*),/;
const containerIds = /[0-9a-f]{64}/g;

/** The containers of a process that the kernel is about to kill; several for nested containers. */
export function killedContainers(record: string): readonly string[] {
  return report.exec(record)?.[1]?.match(containerIds) ?? [];
}

const kernelLog = '/dev/kmsg';
// The longest record that the kernel hands out; a shorter buffer would be refused.
const longestRecord = 8_192;

/** The kernel's log from its oldest record on. Opened at the first read. */
function openKernelLog(): { read: ReadRecord; close(): void } {
  const buffer = Buffer.alloc(longestRecord);
  let file: number | undefined;
  return {
    read() {
      file ??= openSync(kernelLog, constants.O_RDONLY | constants.O_NONBLOCK);
      for (;;) {
        try {
          return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, null));
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          if (code === 'EAGAIN') return undefined;
          // EPIPE: the next records were overwritten; the following read continues with the oldest remaining one.
          if (code !== 'EPIPE') throw error;
        }
      }
    },
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}
