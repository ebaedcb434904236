import { type Client, type ConfigMap, isAlreadyExists, type WatchEvent } from '../../../client/index.ts';

/** Out of the reach of everything that is thrown at the server. */
const namespace = 'canary';
const key = { namespace, name: 'canary' };

/** An object with one writer, and a watch that must go on while the server is under fire. */
export class Canary {
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #seen: string[] = [];
  #watching: Promise<void> = Promise.resolve();
  #songs = 0;
  /** Times that the watch had to be opened again. */
  resumes = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  async begin(): Promise<void> {
    await this.#client.namespaces.create({ metadata: { name: namespace } }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    const made = await this.#client.configMaps.create({ metadata: key, data: { song: '0', feathers: 'yellow' } });
    this.#watching = this.#watch(made.metadata?.resourceVersion);
    this.#watching.catch(() => {});
  }

  async #watch(resourceVersion: string | undefined): Promise<void> {
    let from = resourceVersion;
    for (;;) {
      const batches = this.#client.configMaps.watch({ namespace, resourceVersion: from }, { signal: this.#stop.signal });
      for await (const batch of batches) {
        from = batch.at(-1)?.object.metadata?.resourceVersion ?? from;
        this.#seen.push(...batch.map(songOf));
      }
      this.resumes++;
    }
  }

  /** One song more; it is intact, and its watcher heard every song once. */
  async sing(): Promise<void> {
    const song = String(++this.#songs);
    await this.#client.configMaps.patch(key, { data: { song } });
    const { data } = await this.#client.configMaps.get(key);
    if (data?.song !== song || data.feathers !== 'yellow')
      throw new Error(`the canary is ${JSON.stringify(data)} instead of song ${song}`);
    for (let waits = 0; this.#seen.at(-1) !== song; waits++) {
      if (waits > 600) throw new Error(`the canary's watch did not show song ${song}: ${this.#seen.slice(-3).join()}`);
      await Promise.race([this.#watching, new Promise((resolve) => setTimeout(resolve, 50))]);
    }
    const heard = this.#seen.join();
    const sung = Array.from({ length: this.#songs }, (_, i) => `${i + 1}`).join();
    if (heard !== sung) throw new Error(`the canary's watch showed ${heard} instead of ${sung}`);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#watching.catch(() => {});
  }
}

const songOf = ({ object }: WatchEvent<ConfigMap>): string => object.data?.song ?? '';
