import { badRequest } from '../../api/errors/index.ts';
import type { GetUsageHistoryRequest } from '../../api/generated/types.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { askAgent } from '../tunnel/ask-agent.ts';
import { findTarget } from '../tunnel/stream-target.ts';
import type { Tunnels } from '../tunnel/tunnels.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { PreparedCall, Reply } from '../verbs/prepared-call.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const USAGE_HISTORIES_SERVICE = 'berth.metrics.v1.UsageHistories';

/** ServeRequest.usageHistory. */
const USAGE_HISTORY_FIELD = 11;

export interface UsageHistoriesDeps {
  readonly tunnels: Tunnels;
  readonly pods: KindStore;
}

/** What nodes and pods used in the last hour: their agents know. Needs the right to get the pod or node. */
export function usageHistoriesService(deps: UsageHistoriesDeps, pipeline: CallPipeline) {
  return {
    definition: serviceDefinition(USAGE_HISTORIES_SERVICE),
    implementation: {
      Get: pipeline.unary((request, call) => {
        const wanted = decodeStrictly<GetUsageHistoryRequest>('berth.metrics.v1.GetUsageHistoryRequest', request, 'request');
        return prepareHistory(deps, wanted, call);
      }),
    },
  };
}

function prepareHistory(deps: UsageHistoriesDeps, wanted: GetUsageHistoryRequest, call: CallContext): PreparedCall {
  const { nodeName = '', podName = '', namespace = '' } = wanted;
  if ((nodeName === '') === (podName === '')) throw badRequest('name either a pod or a node');
  if (podName === '') call.authorize({ verb: 'get', kind: 'Node', namespace: '', name: nodeName });
  else call.authorize({ verb: 'get', kind: 'Pod', namespace, name: podName });
  return { run: () => answer(deps, wanted, call) };
}

async function answer({ tunnels, pods }: UsageHistoriesDeps, wanted: GetUsageHistoryRequest, call: CallContext): Promise<Reply> {
  const { nodeName = '', podName = '', namespace = '' } = wanted;
  const target = podName === '' ? { node: nodeName, uid: '' } : await findTarget(pods, { namespace, name: podName });
  const open = { podUid: target.uid, usageHistory: wanted };
  return askAgent(tunnels, { node: target.node, open, field: USAGE_HISTORY_FIELD, lacks: 'does not keep a history' }, call);
}
