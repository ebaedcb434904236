import type { Namespace, WriteOptions } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { createKindClient } from './kind-client.ts';
import type { CallOptions, ResourceClient } from './resource-client.ts';

export interface NamespaceClient extends ResourceClient<Namespace> {
  /** Replaces spec.finalizers and nothing else: for those who clean up in a namespace before it goes. */
  finalize(object: Namespace, options?: WriteOptions, call?: CallOptions): Promise<Namespace>;
}

/** The client for namespaces: the standard methods and their end. */
export function createNamespaceClient(connection: Connection, kind: Kind<Namespace>): NamespaceClient {
  const request = `${kind.message}WriteRequest`;
  const method: Method = { path: `/${kind.service}/Finalize`, request, response: kind.message };
  return {
    ...createKindClient(connection, kind),
    finalize: (object, options = {}, call) => connection.unary<Namespace>(method, { object, options }, call),
  };
}
