import type { NetCheck } from '../../api/generated/types.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

/** What nodes see of the network of pods. */
export interface NetChecksClient {
  /** Lets the node look, some seconds at most. UNAVAILABLE while it is not connected or does not answer. */
  ofNode(name: string, call?: CallOptions): Promise<NetCheck>;
}

const get: Method = {
  path: '/berth.node.v1.NetChecks/Get',
  request: 'berth.node.v1.GetNetCheckRequest',
  response: 'berth.node.v1.NetCheck',
};

export function createNetChecksClient(connection: Connection): NetChecksClient {
  return { ofNode: (nodeName, call) => connection.unary<NetCheck>(get, { nodeName }, call) };
}
