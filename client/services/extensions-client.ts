import type { EmptyNamespaceResponse } from '../../api/generated/types.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

const method: Method = {
  path: '/berth.server.v1.Extensions/EmptyNamespace',
  request: 'berth.server.v1.EmptyNamespaceRequest',
  response: 'berth.server.v1.EmptyNamespaceResponse',
};

/** The objects of groups that extension servers serve. */
export interface ExtensionsClient {
  /** Deletes what they hold in a namespace that is being deleted. FAILED_PRECONDITION for other namespaces. */
  emptyNamespace(namespace: string, call?: CallOptions): Promise<EmptyNamespaceResponse>;
}

export function createExtensionsClient(connection: Connection): ExtensionsClient {
  return { emptyNamespace: (namespace, call) => connection.unary<EmptyNamespaceResponse>(method, { namespace }, call) };
}
