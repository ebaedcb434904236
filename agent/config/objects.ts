import type { ConfigMap, Pod, Secret } from '../../api/generated/types.ts';
import { rootCertificates } from '../../api/meta/well-known.ts';
import type { Clock } from '../../client/clock.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';
import { podContainers } from '../pod/pod-containers.ts';
import type { PodObjects } from './env.ts';
import { createKnownObjects } from './known-objects.ts';

/** The ConfigMaps and Secrets that pods name. Called whenever containers start and when mounted ones are refreshed. */
export interface ObjectSource {
  /**
   * The ConfigMaps and Secrets of a pod that exist, at most `maxAgeMs` old. Throws ApiError when the server is away and
   * one of them is not known.
   */
  forPod(pod: Pod, maxAgeMs: number): Promise<PodObjects>;
  /** Secrets of one namespace by name, under the same terms. */
  secrets(namespace: string, names: readonly string[], maxAgeMs: number): Promise<ReadonlyMap<string, Secret>>;
}

export interface ObjectSourceOptions {
  readonly configMaps: Pick<ResourceClient<ConfigMap>, 'get'>;
  readonly secrets: Pick<ResourceClient<Secret>, 'get'>;
  /**
   * The authorities' certificates (PEM) that this agent trusts, for pods of a namespace that has no ConfigMap with
   * them: a controller makes that, a moment after the namespace. Containers start again with it while the server is
   * away.
   */
  readonly authorities?: (() => string | undefined) | undefined;
  readonly clock: Clock;
}

/**
 * Authorities change once in years, and both count until an administrator ends that: neither each pod's start nor each
 * round of the volumes has to ask for them.
 */
const rootAgeMs = 300_000;

export function createObjectSource({ configMaps, secrets, authorities, clock }: ObjectSourceOptions): ObjectSource {
  const getConfigMap = createKnownObjects(configMaps, clock);
  const getSecret = createKnownObjects(secrets, clock);
  const { configMap: rootName, key: rootKey } = rootCertificates;

  async function getMap(namespace: string, name: string, maxAgeMs: number): Promise<ConfigMap | undefined> {
    const own = name === rootName ? authorities?.() : undefined;
    const found = getConfigMap({ namespace, name }, name === rootName ? Math.max(maxAgeMs, rootAgeMs) : maxAgeMs);
    if (own === undefined) return found;
    return (await found.catch(() => undefined)) ?? { metadata: { namespace, name }, data: { [rootKey]: own } };
  }

  return {
    async forPod(pod, maxAgeMs) {
      const names = namedObjects(pod);
      const namespace = pod.metadata?.namespace ?? '';
      const [maps, secretMap] = await Promise.all([
        getAll(names.configMaps, (name) => getMap(namespace, name, maxAgeMs)),
        getAll(names.secrets, (name) => getSecret({ namespace, name }, maxAgeMs)),
      ]);
      return { configMaps: maps, secrets: secretMap };
    },
    secrets: (namespace, names, maxAgeMs) => getAll(new Set(names), (name) => getSecret({ namespace, name }, maxAgeMs)),
  };
}

async function getAll<T>(names: ReadonlySet<string>, get: (name: string) => Promise<T | undefined>): Promise<Map<string, T>> {
  const found = new Map<string, T>();
  await Promise.all(
    [...names].map(async (name) => {
      const object = await get(name);
      if (object !== undefined) found.set(name, object);
    }),
  );
  return found;
}

/** Every ConfigMap and Secret that the pod's containers and volumes name. */
export function namedObjects(pod: Pod): { readonly configMaps: Set<string>; readonly secrets: Set<string> } {
  const configMaps: (string | undefined)[] = [];
  const secrets: (string | undefined)[] = [];
  for (const { container } of podContainers(pod)) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      configMaps.push(configMapRef?.localObjectReference?.name);
      secrets.push(secretRef?.localObjectReference?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      configMaps.push(valueFrom?.configMapKeyRef?.localObjectReference?.name);
      secrets.push(valueFrom?.secretKeyRef?.localObjectReference?.name);
    }
  }
  for (const { volumeSource } of pod.spec?.volumes ?? []) {
    configMaps.push(volumeSource?.configMap?.localObjectReference?.name);
    secrets.push(volumeSource?.secret?.secretName);
    for (const { configMap, secret } of volumeSource?.projected?.sources ?? []) {
      configMaps.push(configMap?.localObjectReference?.name);
      secrets.push(secret?.localObjectReference?.name);
    }
  }
  return { configMaps: namesIn(configMaps), secrets: namesIn(secrets) };
}

function namesIn(list: readonly (string | undefined)[]): Set<string> {
  return new Set(list.filter((name): name is string => name !== undefined && name !== ''));
}
