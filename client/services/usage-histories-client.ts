import type { UsageHistory } from '../../api/generated/types.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

/** What nodes and pods used in the last hour, from the memory of their agents. */
export interface UsageHistoriesClient {
  /**
   * UNAVAILABLE while the node is not connected; NOT_FOUND for a pod that is not there or that its agent does not know
   * yet.
   */
  ofPod(
    namespace: string,
    name: string,
    options?: { readonly container?: string | undefined },
    call?: CallOptions,
  ): Promise<UsageHistory>;
  ofNode(name: string, call?: CallOptions): Promise<UsageHistory>;
}

const get: Method = {
  path: '/berth.metrics.v1.UsageHistories/Get',
  request: 'berth.metrics.v1.GetUsageHistoryRequest',
  response: 'berth.metrics.v1.UsageHistory',
};

export function createUsageHistoriesClient(connection: Connection): UsageHistoriesClient {
  return {
    ofPod: (namespace, podName, { container = '' } = {}, call) =>
      connection.unary<UsageHistory>(get, { namespace, podName, container }, call),
    ofNode: (nodeName, call) => connection.unary<UsageHistory>(get, { nodeName }, call),
  };
}
