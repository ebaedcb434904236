import type { Client, ConnectOptions } from './client.ts';
import { clientOver } from './client-over.ts';
import { createConnection } from './connection/connection.ts';

/**
 * A client of the API server. Connects with the first call.
 * Throws INVALID_ARGUMENT for certificates that cannot be read.
 */
export function connect(options: ConnectOptions): Client {
  return clientOver(createConnection(options), options);
}
