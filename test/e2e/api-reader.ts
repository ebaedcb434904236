import { ApiError, type Client, connect, type JsonObject, loadContext } from '../../client/index.ts';

const timeoutMs = 10_000;

/**
 * Reads an installation over one connection of the test's process:
 * a `berth get` for each look would cost more than what is tested.
 */
export interface ApiReader {
  /** The objects of a kind in the namespace "default", as `-o json` shows them. */
  list(kind: string): Promise<readonly JsonObject[]>;
  get(kind: string, name: string): Promise<JsonObject>;
  close(): void;
}

/** Of the current context of a configuration, which may not be there yet. */
export function createApiReader(config: string): ApiReader {
  let client: Promise<Client> | undefined;

  function close(): void {
    client?.then(
      (each) => each.close(),
      () => undefined,
    );
    client = undefined;
  }

  /**
   * The server may be another one since the last read, with another authority:
   * a connection that has failed is made anew.
   */
  async function read<T>(call: (client: Client) => Promise<T>): Promise<T> {
    const isNew = client === undefined;
    client ??= loadContext(undefined, config).then(({ options }) => connect(options));
    try {
      return await call(await client);
    } catch (error) {
      close();
      if (!isNew && error instanceof ApiError && error.code === 'UNAVAILABLE') return read(call);
      throw error;
    }
  }

  return {
    list: (kind) => read(async ({ objects }) => (await objects.list(kind, { namespace: 'default' }, { timeoutMs })).items),
    get: (kind, name) => read(({ objects }) => objects.get(kind, { namespace: 'default', name }, { timeoutMs })),
    close,
  };
}
