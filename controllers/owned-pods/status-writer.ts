import { isNotFound } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { objectKey, splitKey } from '../../api/meta/key.ts';
import type { Clock, ResourceClient, ResourceWrites } from '../../client/index.ts';
import { isOutcomeUnknown, untilAnswered } from './until-answered.ts';

export interface StatusWriterOptions<T extends ApiObject> {
  readonly writes: Pick<ResourceWrites<T>, 'updateStatus'>;
  readonly client: Pick<ResourceClient<T>, 'get'>;
  /** Makes the key wait until the informer of the owners shows this version. */
  readonly note: (key: string, written: ApiObject) => void;
  readonly clock: Clock;
  readonly random?: (() => number) | undefined;
}

/**
 * Writes the status of owners such that none is decided on with a status older than what was written: a write whose
 * outcome is unknown is repeated until it is answered, and where a repetition is refused, the server is asked what the
 * first attempt came to.
 */
export class StatusWriter<T extends ApiObject> {
  readonly #options: StatusWriterOptions<T>;
  /** Keys of which the server is to be asked. */
  readonly #unsure = new Set<string>();

  constructor(options: StatusWriterOptions<T>) {
    this.#options = options;
  }

  /** Before a key is decided on. Throws what the server answers, so that the key is tried again. */
  async settle(key: string, signal: AbortSignal): Promise<void> {
    if (!this.#unsure.has(key)) return;
    try {
      this.#options.note(key, await this.#options.client.get(splitKey(key), { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#unsure.delete(key);
  }

  /** From the version that was read. False when the object is gone. */
  async write(object: T, signal: AbortSignal): Promise<boolean> {
    const { writes, note, clock, random } = this.#options;
    const key = objectKey(object);
    const attempt = async (): Promise<T> => {
      try {
        return await writes.updateStatus(object, {}, { signal });
      } catch (error) {
        if (isOutcomeUnknown(error)) this.#unsure.add(key);
        throw error;
      }
    };
    try {
      note(key, await untilAnswered(attempt, { clock, signal, random }));
      this.#unsure.delete(key);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  forget(key: string): void {
    this.#unsure.delete(key);
  }
}
