import { kindOf } from './index.ts';

/**
 * Kinds of Kubernetes that Berth does not have yet, with the nouns that stand for them. A kind that Berth has is
 * skipped.
 */
const kubernetesKinds: Readonly<Record<string, readonly string[]>> = {
  ResourceClaim: ['resourceclaims'],
  ResourceClaimTemplate: ['resourceclaimtemplates'],
  ResourceSlice: ['resourceslices'],
  DeviceClass: ['deviceclasses'],
  MutatingAdmissionPolicy: ['mutatingadmissionpolicies'],
  ClusterTrustBundle: ['clustertrustbundles'],
  VolumeAttributesClass: ['volumeattributesclasses'],
  LeaseCandidate: ['leasecandidates'],
  StorageVersionMigration: ['storageversionmigrations'],
};

/** Which kind of Kubernetes a noun means ("deploy", "Deployment", "deployments.apps") that Berth does not have yet. */
export function kindNotYet(noun: string): string | undefined {
  const word = (noun.split('.')[0] ?? '').toLowerCase();
  const found = Object.entries(kubernetesKinds).find(([kind, nouns]) => kind.toLowerCase() === word || nouns.includes(word))?.[0];
  return found !== undefined && kindOf(found) === undefined ? found : undefined;
}

/** The sentence about such a kind; undefined for every other noun. */
export function notYetReason(noun: string): string | undefined {
  const kind = kindNotYet(noun);
  return kind && `${kind} is not there yet: "berth api-resources" lists the kinds that Berth has`;
}
