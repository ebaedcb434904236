import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import { wordsOf } from '../words-of.ts';
import type { KnownServices } from './service-feed.ts';

const fileOf = (nodeDir: string): string => join(nodeDir, 'services.json');

/** What an agent of this folder knew last; undefined where there is nothing that can be read. */
export async function readKeptServices(nodeDir: string): Promise<KnownServices | undefined> {
  try {
    const { services, slices } = JSON.parse(await readFile(fileOf(nodeDir), 'utf8')) as Partial<KnownServices>;
    return isNamed(services) && isNamed(slices) ? { services, slices } : undefined;
  } catch {
    return undefined;
  }
}

const isNamed = <T extends ApiObject>(list: readonly T[] | undefined): list is readonly T[] =>
  Array.isArray(list) && (list as readonly (T | null)[]).every((each) => typeof each?.metadata?.name === 'string');

/** After this time changes are on disk: a machine that restarts without its server knows Services as they were then. */
const writeMs = 30_000;

export interface KeepServicesOptions {
  readonly nodeDir: string;
  readonly known: () => KnownServices;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Keeps what is known of Services on the node's disk. */
export class KeptServices {
  readonly #options: KeepServicesOptions;
  #isDirty = false;
  /** Why the last write failed. */
  #failed = '';

  constructor(options: KeepServicesOptions) {
    this.#options = options;
  }

  changed(): void {
    this.#isDirty = true;
  }

  /** Until aborted; what is not written by then is written at the end. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(writeMs, signal, this.#options.clock);
      await this.#write();
    }
  }

  async #write(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    const { nodeDir, known, logger } = this.#options;
    const file = fileOf(nodeDir);
    try {
      await writeFile(`${file}.new`, JSON.stringify(known()), { mode: 0o600 });
      await rename(`${file}.new`, file);
      this.#failed = '';
    } catch (error) {
      this.#isDirty = true;
      const words = `Services cannot be kept for a restart without the server: ${wordsOf(error)}`;
      if (words !== this.#failed) logger.warn({}, words);
      this.#failed = words;
    }
  }
}
