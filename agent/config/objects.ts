import { isNotFound } from '../../api/errors/index.ts';
import type { ConfigMap, Pod, Secret } from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { Clock } from '../../client/clock.ts';
import { createLru } from '../../client/lru.ts';
import type { ResourceClient } from '../../client/resource-client.ts';
import type { PodObjects } from './env.ts';

/** The ConfigMaps and Secrets that pods name. Called whenever containers start and when mounted ones are refreshed. */
export interface ObjectSource {
  /** Those that exist, at most `maxAgeMs` old. Throws ApiError when the server is away and one of them is not known. */
  forPod(pod: Pod, maxAgeMs: number): Promise<PodObjects>;
}

export interface ObjectSourceOptions {
  readonly configMaps: Pick<ResourceClient<ConfigMap>, 'get'>;
  readonly secrets: Pick<ResourceClient<Secret>, 'get'>;
  readonly clock: Clock;
}

/** More than the objects of the pods that a node may run; the least used go first. */
const capacity = 500;

export function createObjectSource({ configMaps, secrets, clock }: ObjectSourceOptions): ObjectSource {
  const getConfigMap = cachedGet(configMaps, clock);
  const getSecret = cachedGet(secrets, clock);
  return {
    async forPod(pod, maxAgeMs) {
      const names = namedObjects(pod);
      const namespace = pod.metadata?.namespace ?? '';
      const [maps, secretMap] = await Promise.all([
        getAll(names.configMaps, (name) => getConfigMap(namespace, name, maxAgeMs)),
        getAll(names.secrets, (name) => getSecret(namespace, name, maxAgeMs)),
      ]);
      return { configMaps: maps, secrets: secretMap };
    },
  };
}

interface Cached<T> {
  readonly at: number;
  readonly object: Promise<T | undefined>;
}

function cachedGet<T extends ApiObject>(client: Pick<ResourceClient<T>, 'get'>, clock: Clock) {
  const cache = createLru<Cached<T>>(capacity);
  return (namespace: string, name: string, maxAgeMs: number): Promise<T | undefined> => {
    const key = objectKey({ metadata: { namespace, name } });
    const known = cache.get(key);
    if (known !== undefined && clock.now() - known.at < maxAgeMs) return known.object;
    const object = client.get({ namespace, name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      // Away: what it said last still stands.
      if (known !== undefined) return known.object;
      throw error;
    });
    const entry = { at: clock.now(), object };
    cache.set(key, entry);
    // Neither a failure nor an absence is kept: the user is about to mend it.
    const expire = () => void (cache.get(key) === entry && cache.set(key, { ...entry, at: Number.NEGATIVE_INFINITY }));
    object.then((found) => found === undefined && expire(), expire);
    return object;
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
  for (const container of pod.spec?.containers ?? []) {
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
  }
  return { configMaps: namesIn(configMaps), secrets: namesIn(secrets) };
}

function namesIn(list: readonly (string | undefined)[]): Set<string> {
  return new Set(list.filter((name): name is string => name !== undefined && name !== ''));
}

/** Whether a volume of the pod shows an object that may change while it runs. */
export function mountsObjects(pod: Pod): boolean {
  return (pod.spec?.volumes ?? []).some(
    ({ volumeSource }) => volumeSource?.configMap !== undefined || volumeSource?.secret !== undefined,
  );
}
