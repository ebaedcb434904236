import type { ApiObject } from '../../api/kinds/kind.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { ResourceClient } from '../../client/index.ts';

/** Follows the objects of a kind as a program does that waits for them. */
export class StatusWatch<T extends ApiObject> {
  readonly objects = new Map<string, T>();
  readonly #stop = new AbortController();
  #wake = (): void => {};
  #failure: unknown;

  static async open<T extends ApiObject>(client: Pick<ResourceClient<T>, 'list' | 'watch'>): Promise<StatusWatch<T>> {
    const watch = new StatusWatch<T>();
    const { metadata } = await client.list({ namespace: 'default', limit: 1 });
    void watch.#follow(client, metadata.resourceVersion ?? '');
    return watch;
  }

  async #follow(client: Pick<ResourceClient<T>, 'watch'>, resourceVersion: string): Promise<void> {
    try {
      for await (const events of client.watch({ namespace: 'default', resourceVersion }, { signal: this.#stop.signal })) {
        for (const { type, object } of events) {
          if (type === 'DELETED') this.objects.delete(objectKey(object));
          else this.objects.set(objectKey(object), object);
        }
        this.#wake();
      }
      throw new Error('the watch has ended');
    } catch (error) {
      this.#failure = error;
      this.#wake();
    }
  }

  /** Resolves when `isDone`, which is asked after every batch. Throws when that takes more than five minutes. */
  async until(isDone: (objects: ReadonlyMap<string, T>) => boolean, what: string): Promise<void> {
    const deadline = Date.now() + 300_000;
    while (!isDone(this.objects)) {
      if (this.#failure) throw this.#failure;
      if (Date.now() > deadline) throw new Error(`${what}: not within 5 minutes`);
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = setTimeout(resolve, 1_000);
      });
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#stop.abort();
  }
}
