import type { Client, ConnectOptions } from './client.ts';
import { clientOver } from './client-over.ts';
import type { CallChannel, ChannelOptions } from './connection/call-channel.ts';
import { createConnection, createConnectionOver } from './connection/connection.ts';

/**
 * A client of the API server. Connects with the first call.
 * Throws INVALID_ARGUMENT for certificates that cannot be read.
 */
export function connect(options: ConnectOptions): Client {
  return clientOver(createConnection(options), options);
}

/** A client whose calls go over a channel that the caller has, such as that of a server in the same process. */
export function connectOver(channel: CallChannel, options: ChannelOptions): Client {
  return clientOver(createConnectionOver(channel, options), options);
}
