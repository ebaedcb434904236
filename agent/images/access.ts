import type { PullCredential, SecretMark } from './credentials.ts';

/**
 * Which pods have to prove to the registry that they may use an image that is already on the node, as the kubelet's
 * imagePullCredentialsVerificationPolicy.
 */
export const verificationPolicies = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;
export type VerificationPolicy = (typeof verificationPolicies)[number];

export interface AccessPolicy {
  readonly policy: VerificationPolicy;
  /** Repositories ("quay.io/team/app"), or all below one ("quay.io/team/*"); for NeverVerifyAllowlistedImages. */
  readonly allowlist: readonly string[];
}

/** Which pods may use a repository's image: all on this node, or those with one of these Secrets. */
export type Access = { readonly anyone: true } | { readonly anyone?: false; readonly secrets: readonly SecretMark[] };

/** Secrets remembered for one repository of an image; the oldest go first. */
const mostSecrets = 100;

/**
 * Whether a pod has to show credentials for an image that is here. `pulled` says whether Berth pulled it; `access` is
 * what is known of those who pulled it under this name.
 */
export function mustShowCredentials(
  { policy, allowlist }: AccessPolicy,
  image: { readonly repository: string; readonly pulled: boolean; readonly access: Access | undefined },
): boolean {
  if (policy === 'NeverVerify' || image.access?.anyone === true) return false;
  if (policy === 'NeverVerifyPreloadedImages') return image.pulled;
  if (policy === 'NeverVerifyAllowlistedImages') return image.pulled || !isListed(allowlist, image.repository);
  return true;
}

/** Whether one of a pod's credentials has pulled the image before: the same Secret, or another with the same login. */
export function isKnown(access: Access | undefined, credentials: readonly PullCredential[]): boolean {
  if (access === undefined) return false;
  if (access.anyone === true) return true;
  return credentials.some(({ secret }) => secret !== undefined && access.secrets.some((mark) => isSame(mark, secret)));
}

/**
 * What is known after a pull with this credential: with the node's, or with none,
 * all pods of the node may use the image.
 */
export function withAccess(access: Access | undefined, credential: PullCredential | undefined): Access {
  const secret = credential?.secret;
  if (secret === undefined || access?.anyone === true) return { anyone: true };
  const others = (access?.secrets ?? []).filter((mark) => mark.uid !== secret.uid || mark.name !== secret.name);
  return { secrets: [...others, secret].slice(-mostSecrets) };
}

function isSame(a: SecretMark, b: SecretMark): boolean {
  return a.hash === b.hash || (a.uid === b.uid && a.namespace === b.namespace && a.name === b.name);
}

function isListed(allowlist: readonly string[], repository: string): boolean {
  return allowlist.some((pattern) =>
    pattern.endsWith('/*') ? repository.startsWith(pattern.slice(0, -1)) : repository === pattern,
  );
}
