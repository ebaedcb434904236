import type { EndpointSlice } from '../../api/generated/types.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';

/** An index of EndpointSlices by the key of their service; only those that this manager keeps. */
export function keptSlices(manager: string): (slice: EndpointSlice) => readonly string[] {
  return ({ metadata }) => {
    const service = metadata?.labels?.[serviceLabels.serviceName];
    const isKept = metadata?.labels?.[serviceLabels.managedBy] === manager;
    return isKept && service ? [`${metadata?.namespace ?? ''}/${service}`] : [];
  };
}
