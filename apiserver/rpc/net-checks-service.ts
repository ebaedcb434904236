import { badRequest } from '../../api/errors/index.ts';
import type { GetNetCheckRequest } from '../../api/generated/types.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { askAgent } from '../tunnel/ask-agent.ts';
import type { Tunnels } from '../tunnel/tunnels.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { PreparedCall } from '../verbs/prepared-call.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';

export const NET_CHECKS_SERVICE = 'berth.node.v1.NetChecks';

/** ServeRequest.netCheck. */
const NET_CHECK_FIELD = 12;

/**
 * What nodes see of the network of pods: their agents look. Needs the right to get `nodes/netcheck`: a check tells of
 * all nodes, and names pods of any namespace.
 */
export function netChecksService(tunnels: Tunnels, pipeline: CallPipeline) {
  return {
    definition: serviceDefinition(NET_CHECKS_SERVICE),
    implementation: {
      Get: pipeline.unary((request, call) => {
        const wanted = decodeStrictly<GetNetCheckRequest>('berth.node.v1.GetNetCheckRequest', request, 'request');
        return prepareCheck(tunnels, wanted, call);
      }),
    },
  };
}

function prepareCheck(tunnels: Tunnels, wanted: GetNetCheckRequest, call: CallContext): PreparedCall {
  const { nodeName = '' } = wanted;
  if (nodeName === '') throw badRequest('name a node');
  call.authorize({ verb: 'get-netcheck', kind: 'Node', namespace: '', name: nodeName });
  const asked = { node: nodeName, open: { netCheck: wanted }, field: NET_CHECK_FIELD, lacks: 'does not check networks' };
  return { run: () => askAgent(tunnels, asked, call) };
}
