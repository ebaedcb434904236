import type { Endpoint, EndpointSlice, EndpointSliceV1beta1, EndpointV1beta1 } from '../../../generated/types.ts';
import { works } from '../../field-support.ts';
import { metadataFields } from '../../metadata-fields.ts';
import { olderVersion } from '../../older-version.ts';
import { endpointSlice } from '../kind.ts';

const NODE = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

/** The topology in fields, as far as there are any; a node that differs from the endpoint's own stays as it is. */
function endpointToStored({ topology, ...endpoint }: EndpointV1beta1): Endpoint {
  const { [NODE]: node, [ZONE]: zone, ...others } = topology ?? {};
  const nodeName = endpoint.nodeName ?? node;
  const deprecatedTopology = { ...others, ...(node !== undefined && node !== nodeName && { [NODE]: node }) };
  return {
    ...endpoint,
    ...(nodeName !== undefined && { nodeName }),
    ...(zone !== undefined && { zone }),
    ...(Object.keys(deprecatedTopology).length > 0 && { deprecatedTopology }),
  };
}

function endpointFromStored({ deprecatedTopology, zone, ...endpoint }: Endpoint): EndpointV1beta1 {
  const { nodeName } = endpoint;
  const topology = {
    ...(nodeName !== undefined && { [NODE]: nodeName }),
    ...deprecatedTopology,
    ...(zone !== undefined && { [ZONE]: zone }),
  };
  return { ...endpoint, ...(Object.keys(topology).length > 0 && { topology }) };
}

/** Node and zone of an endpoint are entries of its topology. */
export const endpointSliceV1beta1 = olderVersion<EndpointSlice, EndpointSliceV1beta1>(endpointSlice, {
  apiVersion: 'discovery.k8s.io/v1beta1',
  message: 'berth.discovery.v1beta1.EndpointSlice',
  fields: { ...metadataFields, addressType: works, 'endpoints[]': works, 'ports[]': works },
  deprecated: ['1.21', '1.25'],
  toStored: ({ endpoints, ...slice }) => ({ ...slice, ...(endpoints && { endpoints: endpoints.map(endpointToStored) }) }),
  fromStored: ({ endpoints, ...slice }) => ({ ...slice, ...(endpoints && { endpoints: endpoints.map(endpointFromStored) }) }),
});
