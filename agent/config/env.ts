import type { ConfigMap, Container, EnvFromSource, EnvVar, Pod, Secret } from '../../api/generated/types.ts';
import { ContainerConfigError } from './config-error.ts';
import { entryOf, fieldText, type PodFacts, resourceText } from './downward.ts';
import { expand, mostTextLength, tooMuch } from './expand.ts';

/** The objects of the pod's namespace that it names; those that do not exist are left out. */
export interface PodObjects {
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly secrets: ReadonlyMap<string, Secret>;
}

/** Where programs in pods find the API server. */
const apiAddressVariable = 'BERTH_ADDRESS';

/**
 * A container's environment, in order: first the address of the API server and the variables of Services, then what
 * envFrom brings, then env; a later name replaces an earlier one. Throws ContainerConfigError.
 */
export function computeEnv(pod: Pod, container: Container, objects: PodObjects, facts: PodFacts): Map<string, string> {
  const env = new Map(facts.serviceLinks);
  if (facts.apiAddress !== undefined) env.set(apiAddressVariable, facts.apiAddress);
  for (const source of container.envFrom ?? []) addAll(env, source, objects);
  let length = lengthOf(env);
  if (length > mostTextLength) throw tooMuch();
  for (const variable of container.env ?? []) {
    const value = envValue(variable, env, { pod, container, objects, facts });
    if (value === undefined) continue;
    const name = variable.name ?? '';
    length += value.length - (env.get(name)?.length ?? 0);
    if (length > mostTextLength) throw tooMuch();
    env.set(name, value);
  }
  return env;
}

function lengthOf(env: ReadonlyMap<string, string>): number {
  let length = 0;
  for (const value of env.values()) length += value.length;
  return length;
}

interface Context {
  readonly pod: Pod;
  readonly container: Container;
  readonly objects: PodObjects;
  readonly facts: PodFacts;
}

function addAll(env: Map<string, string>, source: EnvFromSource, objects: PodObjects): void {
  const prefix = source.prefix ?? '';
  for (const [key, value] of Object.entries(entriesOf(source, objects))) {
    if (key !== '' && !key.includes('=')) env.set(prefix + key, value);
  }
}

function entriesOf({ configMapRef, secretRef }: EnvFromSource, objects: PodObjects): Record<string, string> {
  if (configMapRef !== undefined) {
    const name = configMapRef.localObjectReference?.name ?? '';
    return needed(objects.configMaps.get(name), configMapRef.optional, `configmap "${name}" not found`)?.data ?? {};
  }
  const name = secretRef?.localObjectReference?.name ?? '';
  const secret = needed(objects.secrets.get(name), secretRef?.optional, `secret "${name}" not found`);
  return Object.fromEntries(Object.entries(secret?.data ?? {}).map(([key, data]) => [key, data.toString()]));
}

function needed<T>(value: T | undefined, optional: boolean | undefined, message: string): T | undefined {
  if (value === undefined && optional !== true) throw new ContainerConfigError(message);
  return value;
}

function envValue(variable: EnvVar, env: ReadonlyMap<string, string>, context: Context): string | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = variable.valueFrom ?? {};
  const { pod, container, objects, facts } = context;
  if (fieldRef !== undefined) return fieldText(fieldRef, pod, facts);
  if (resourceFieldRef !== undefined) return resourceText(resourceFieldRef, pod, container, facts);
  const place = `${pod.metadata?.namespace ?? ''}/`;
  if (configMapKeyRef !== undefined) {
    const { key = '', optional } = configMapKeyRef;
    const name = configMapKeyRef.localObjectReference?.name ?? '';
    const object = needed(objects.configMaps.get(name), optional, `configmap "${name}" not found`);
    return object && needed(entryOf(object.data, key), optional, `couldn't find key ${key} in ConfigMap ${place}${name}`);
  }
  if (secretKeyRef !== undefined) {
    const { key = '', optional } = secretKeyRef;
    const name = secretKeyRef.localObjectReference?.name ?? '';
    const object = needed(objects.secrets.get(name), optional, `secret "${name}" not found`);
    return (
      object && needed(entryOf(object.data, key), optional, `couldn't find key ${key} in Secret ${place}${name}`)?.toString()
    );
  }
  return expand(variable.value ?? '', env);
}
