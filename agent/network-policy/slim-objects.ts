import type { NetworkPolicy, ObjectMeta, PodAddressSlice } from '../../api/generated/types.ts';

/** What an agent keeps of every policy and slice of the cluster. */
export const slimPolicy = ({ metadata, spec }: NetworkPolicy): NetworkPolicy => ({
  metadata: identityOf(metadata),
  ...(spec && { spec }),
});

export const slimAddresses = ({ metadata, namespaceLabels, pods }: PodAddressSlice): PodAddressSlice => ({
  metadata: identityOf(metadata),
  ...(namespaceLabels && { namespaceLabels }),
  ...(pods && { pods }),
});

function identityOf({ namespace, name, uid, resourceVersion }: ObjectMeta = {}): ObjectMeta {
  return { namespace, name, uid, resourceVersion };
}
