import { createHash } from 'node:crypto';
import type { Pod, Secret } from '../../api/generated/types.ts';
import type { RegistryAuth } from '../runtime/runtime.ts';
import {
  type DockerConfig,
  DockerConfigError,
  parseDockerCfg,
  parseDockerConfigJson,
  type RegistryEntry,
} from './docker-config.ts';
import { findEntries } from './keyring.ts';

/** A Secret, at the time when an image was pulled with it. */
export interface SecretMark {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Of what was shown to the registry. */
  readonly hash: string;
}

/** Registry credentials and their source: the pod, or the node (for all pods). */
export interface PullCredential {
  readonly auth: RegistryAuth;
  readonly hash: string;
  readonly secret: SecretMark | undefined;
}

export interface PodCredentials {
  /** In order of use: the pod's, then the node's. Empty: anonymous pull. */
  readonly credentials: readonly PullCredential[];
  /** Secrets that the pod names and that are not there. */
  readonly missing: readonly string[];
  /** Secrets that are there and hold no Docker configuration, and why. */
  readonly unreadable: readonly string[];
}

export interface CredentialSource {
  /**
   * What a pod may show to the registry of a repository ("docker.io/library/nginx"). Throws ApiError when the server is
   * away and a Secret is not known. Called before an image is pulled, and before one with restricted access is used.
   */
  forPod(pod: Pod, repository: string): Promise<PodCredentials>;
}

export interface CredentialSourceOptions {
  /** Secrets of a namespace by name, those that exist. */
  secrets(namespace: string, names: readonly string[]): Promise<ReadonlyMap<string, Secret>>;
  /** What the node has for a repository. */
  node(repository: string): Promise<readonly RegistryEntry[]>;
}

export function createCredentialSource({ secrets, node }: CredentialSourceOptions): CredentialSource {
  return {
    async forPod(pod, repository) {
      const names = pullSecretNames(pod);
      const namespace = pod.metadata?.namespace ?? '';
      const found = names.length === 0 ? new Map<string, Secret>() : await secrets(namespace, names);
      const ofPod = computeSecretCredentials([...found.values()], repository);
      const ofNode = (await node(repository)).map((entry) => credentialOf(entry, repository, undefined));
      return {
        credentials: withoutDoubles([...ofPod.credentials, ...ofNode]),
        missing: names.filter((name) => !found.has(name)),
        unreadable: ofPod.unreadable,
      };
    },
  };
}

export function pullSecretNames(pod: Pod): string[] {
  const names = (pod.spec?.imagePullSecrets ?? []).map(({ name }) => name ?? '');
  return [...new Set(names)].filter((name) => name !== '');
}

/** What Secrets hold for a repository. Those of other types hold nothing. Pure. */
export function computeSecretCredentials(
  secrets: readonly Secret[],
  repository: string,
): Pick<PodCredentials, 'credentials' | 'unreadable'> {
  const unreadable: string[] = [];
  const entries: (RegistryEntry & { readonly secret: Secret })[] = [];
  for (const secret of secrets) {
    try {
      for (const entry of parseSecret(secret)?.entries ?? []) entries.push({ ...entry, secret });
    } catch (error) {
      if (!(error instanceof DockerConfigError)) throw error;
      unreadable.push(`${secret.metadata?.name}: ${error.message}`);
    }
  }
  return {
    credentials: findEntries(entries, repository).map((entry) => credentialOf(entry, repository, entry.secret)),
    unreadable,
  };
}

function parseSecret({ type, data = {} }: Secret): DockerConfig | undefined {
  if (type === 'kubernetes.io/dockerconfigjson') return parseDockerConfigJson(data['.dockerconfigjson']?.toString() ?? '');
  if (type === 'kubernetes.io/dockercfg') return parseDockerCfg(data['.dockercfg']?.toString() ?? '');
  return undefined;
}

function credentialOf(entry: RegistryEntry, repository: string, secret: Secret | undefined): PullCredential {
  const { username, password, identityToken } = entry;
  const login = { username, password, ...(identityToken === undefined ? {} : { identityToken }) };
  const hash = createHash('sha256').update(JSON.stringify(login)).digest('hex');
  const { uid = '', namespace = '', name = '' } = secret?.metadata ?? {};
  return {
    auth: { ...login, serverAddress: repository.slice(0, repository.indexOf('/')) },
    hash,
    secret: secret && { uid, namespace, name, hash },
  };
}

/** The same login twice would be refused twice. */
function withoutDoubles(credentials: readonly PullCredential[]): PullCredential[] {
  const byHash = new Map<string, PullCredential>();
  for (const credential of credentials) if (!byHash.has(credential.hash)) byHash.set(credential.hash, credential);
  return [...byHash.values()];
}
