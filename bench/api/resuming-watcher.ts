import { setTimeout as delay } from 'node:timers/promises';
import { createBackoff } from '../../client/index.ts';
import { eachEvent, NAME, RESOURCE_VERSION, textOf } from './event-reader.ts';
import { LeanConnection, type LeanTarget } from './lean-connection.ts';
import { WATCH, watchRequest } from './watchers.ts';

/**
 * Watches pods on a connection of its own and comes back from its last version when the connection ends,
 * with the waits of Berth's own client.
 */
export class ResumingWatcher {
  /** Pods that it was told of. */
  seen = 0;
  /** Events that were not newer than the one before. */
  doubled = 0;
  readonly #target: LeanTarget;
  #version: number;
  #connection: LeanConnection | undefined;
  #closed = false;

  constructor(target: LeanTarget, version: string) {
    this.#target = target;
    this.#version = Number(version);
  }

  async open(): Promise<void> {
    const connection = await LeanConnection.open(this.#target);
    this.#connection = connection;
    const message = (bytes: Buffer): void => eachEvent(bytes, (metadata, isBookmark) => this.#take(metadata, isBookmark));
    connection.call(WATCH, watchRequest(String(this.#version), true), { message, end: () => void this.#comeBack() });
  }

  close(): void {
    this.#closed = true;
    this.#connection?.close();
  }

  #take(metadata: Buffer, isBookmark: boolean): void {
    const version = Number(textOf(metadata, RESOURCE_VERSION));
    if (version < this.#version || (version === this.#version && !isBookmark)) this.doubled++;
    this.#version = version;
    if (!isBookmark && textOf(metadata, NAME) !== '') this.seen++;
  }

  async #comeBack(): Promise<void> {
    const backoff = createBackoff({ initialMs: 200, maxMs: 5_000 });
    this.#connection?.close();
    while (!this.#closed) {
      await delay(backoff.next());
      try {
        return await this.open();
      } catch {
        // Not there yet.
      }
    }
  }
}
