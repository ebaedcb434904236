import { rename, writeFile } from 'node:fs/promises';
import { type Clock, pause } from '../client/clock.ts';
import type { Logger } from '../client/logger.ts';
import { WakeUp } from './nft/wake-up.ts';
import { wordsOf } from './words-of.ts';

export interface KeptFileOptions {
  readonly file: string;
  /** What there is now, for JSON. */
  readonly known: () => unknown;
  /** What cannot be kept when it fails, for the log: "Services". */
  readonly words: string;
  /** After this time changes are on disk. */
  readonly everyMs: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Keeps what is known on the node's disk, for a restart without the server. */
export class KeptFile {
  readonly #options: KeptFileOptions;
  #isDirty = false;
  /** Why the last write failed. */
  #failed = '';
  readonly #wakeUp = new WakeUp();

  constructor(options: KeptFileOptions) {
    this.#options = options;
  }

  changed(): void {
    this.#isDirty = true;
    this.#wakeUp.wake();
  }

  /** Until aborted; what is not written by then is written at the end. No timer while nothing changes. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { everyMs, clock } = this.#options;
    while (!signal.aborted) {
      if (!this.#isDirty) await this.#wakeUp.wait(signal);
      await pause(everyMs - (clock.now() % everyMs), signal, clock);
      await this.#write();
    }
  }

  async #write(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    const { file, known, words, logger } = this.#options;
    try {
      await replaceFile(file, known());
      this.#failed = '';
    } catch (error) {
      this.#isDirty = true;
      const message = `${words} cannot be kept for a restart without the server: ${wordsOf(error)}`;
      if (message !== this.#failed) logger.warn({}, message);
      this.#failed = message;
    }
  }
}

/** Writes a file of JSON that is its owner's alone; readers see the old one or the new one whole. */
export async function replaceFile(file: string, content: unknown): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
