import type { EndpointSlice } from '../../api/generated/types.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';
import { labelsOf } from '../watch/entry.ts';
import type { KindStore, ObjectName } from './kind-store.ts';

/** The EndpointSlices of a Service, as the cache has them. */
export function slicesOf(slices: KindStore, { namespace, name }: ObjectName): EndpointSlice[] {
  return slices.cache
    .range(`${slices.keyPrefix}${namespace}/`)
    .filter((each) => labelsOf(each)[serviceLabels.serviceName] === name)
    .map((each) => slices.cache.decoder.decode(each) as EndpointSlice);
}
