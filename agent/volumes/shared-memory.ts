import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { wordsOf } from '../words-of.ts';
import { isMissing } from './atomic-files.ts';
import type { Mounts } from './mounts.ts';
import { realPathOf } from './mounts.ts';

export interface SharedMemoryOptions {
  /** Of the node: it outlives the agent, as containers see what is in it. */
  readonly folder: string;
  readonly mounts: Mounts;
  readonly canMount: boolean;
  readonly warn: (message: string) => void;
}

/**
 * For 250 pods with two volumes of the greatest size (account-volume.ts) that are being changed, and for thousands of
 * the usual ones.
 */
const sizeBytes = 64 * 1024 * 1024;

/**
 * One file system in memory for the small secret volumes of all pods, a folder for each: mounting one for each pod
 * would cost its start a process.
 */
export class SharedMemory {
  readonly #options: SharedMemoryOptions;
  #ready: Promise<void> | undefined;

  constructor(options: SharedMemoryOptions) {
    this.#options = options;
  }

  podDir(podUid: string): string {
    return join(this.#options.folder, podUid);
  }

  /** Mounts it unless it is. Where that is not possible the data goes to disk, readable by root only. */
  ensure(): Promise<void> {
    this.#ready ??= this.#mount().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** Gone is fine. */
  async remove(podUid: string): Promise<void> {
    await rm(this.podDir(podUid), { recursive: true, force: true });
  }

  /** The pods that have something here. */
  async listPods(): Promise<string[]> {
    try {
      return await readdir(this.#options.folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async #mount(): Promise<void> {
    const { folder, mounts, canMount, warn } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const real = await realPathOf(folder);
    if (!canMount || (await mounts.list()).some((mounted) => mounted === real)) return;
    try {
      await mounts.mountTmpfs(folder, sizeBytes);
      await chmod(folder, 0o700);
    } catch (error) {
      warn(`cannot mount memory at ${folder}, using the disk: ${wordsOf(error)}`);
    }
  }
}
