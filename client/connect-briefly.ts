import type { Client, ConnectOptions } from './client.ts';
import { clientOver } from './client-over.ts';
import { createUnaryConnection } from './connection/unary-connection.ts';

/**
 * A client for a program that makes a call or two and ends: it starts sooner, and connects at once.
 * As `connect` otherwise.
 */
export function connectBriefly(options: Omit<ConnectOptions, 'certificate' | 'keepalive'>): Client {
  return clientOver(createUnaryConnection(options), options);
}
