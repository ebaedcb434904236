import type { VerificationPolicy } from './access.ts';
import type { CollectionPolicy } from './decide-collection.ts';

/** What an operator may say about images; names and defaults are the kubelet's where it has them. */
export interface ImageOptions {
  /** Pulls at once. */
  readonly maxParallelPulls?: number | undefined;
  /** A pull without any progress for so long is ended. */
  readonly pullProgressDeadlineMs?: number | undefined;
  /** A Docker configuration with the node's credentials; by default what `docker login` of the agent's user wrote. */
  readonly registryConfig?: string | undefined;
  readonly verificationPolicy?: VerificationPolicy | undefined;
  /** Repositories of preloaded images that all pods may use, for NeverVerifyAllowlistedImages. */
  readonly verificationAllowlist?: readonly string[] | undefined;
  /** When which images are removed. */
  readonly collection?: Partial<CollectionPolicy> | undefined;
}

export interface CompleteImageOptions {
  readonly maxParallelPulls: number;
  readonly pullProgressDeadlineMs: number;
  readonly registryConfig: string | undefined;
  readonly verificationPolicy: VerificationPolicy;
  readonly verificationAllowlist: readonly string[];
  readonly collection: CollectionPolicy;
}

const collection: CollectionPolicy = {
  highPercent: 85,
  lowPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
  scope: 'pulled',
  pinned: [],
};

/**
 * One at a time is the kubelet's default, which is commonly changed; the deadline is dockershim's,
 * the policy the kubelet's.
 */
export function completeImageOptions(given: ImageOptions = {}): CompleteImageOptions {
  return {
    maxParallelPulls: given.maxParallelPulls ?? 5,
    pullProgressDeadlineMs: given.pullProgressDeadlineMs ?? 60_000,
    registryConfig: given.registryConfig,
    verificationPolicy: given.verificationPolicy ?? 'NeverVerifyPreloadedImages',
    verificationAllowlist: given.verificationAllowlist ?? [],
    collection: { ...collection, ...given.collection },
  };
}
