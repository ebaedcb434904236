import type { Container, ObjectFieldSelector, Pod, ResourceFieldSelector } from '../../api/generated/types.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { findContainer } from '../pod/pod-containers.ts';
import { ContainerConfigError } from './config-error.ts';

/** What a pod's own fields come from, besides the pod: they are known only once its sandbox runs. */
export interface PodFacts {
  readonly podIP: string | undefined;
  readonly hostIP: string;
  /** Where the pod reaches the API server, "host:port"; undefined where nothing leads it there. */
  readonly apiAddress?: string | undefined;
  readonly allocatable: { readonly cpuMilli: number; readonly memoryBytes: number };
  /** Variables of the Services that the pod reaches. */
  readonly serviceLinks?: ReadonlyMap<string, string>;
}

const quoted = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/** The entry of a key, own properties only: a key may be called "constructor". */
export function entryOf<T>(entries: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return entries !== undefined && Object.hasOwn(entries, key) ? entries[key] : undefined;
}

/** The text of a field of the pod, as the downward API gives it to environment variables. */
export function fieldText(selector: ObjectFieldSelector, pod: Pod, facts: PodFacts): string {
  const path = selector.fieldPath ?? '';
  const entry = quoted.exec(path);
  if (entry) return entryOf(pod.metadata?.[entry[1] as 'labels' | 'annotations'], entry[2] ?? '') ?? '';
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': pod.metadata?.name,
    'metadata.namespace': pod.metadata?.namespace,
    'metadata.uid': pod.metadata?.uid,
    'spec.nodeName': pod.spec?.nodeName,
    'spec.serviceAccountName': pod.spec?.serviceAccountName,
    'status.podIP': facts.podIP,
    'status.podIPs': facts.podIP,
    'status.hostIP': facts.hostIP,
    'status.hostIPs': facts.hostIP,
  };
  if (!Object.hasOwn(fields, path))
    throw new ContainerConfigError(`field path "${path}" is not supported in environment variables`);
  return fields[path] ?? '';
}

/** The text of a field of the pod in a volume: there all labels or annotations may be asked for, but no address. */
export function volumeFieldText({ fieldPath = '' }: ObjectFieldSelector, { metadata = {} }: Pod): string {
  const entry = quoted.exec(fieldPath);
  if (entry) return entryOf(metadata[entry[1] as 'labels' | 'annotations'], entry[2] ?? '') ?? '';
  if (fieldPath === 'metadata.labels' || fieldPath === 'metadata.annotations')
    return linesOf(metadata[fieldPath === 'metadata.labels' ? 'labels' : 'annotations']);
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
  };
  if (!Object.hasOwn(fields, fieldPath)) throw new ContainerConfigError(`field path "${fieldPath}" is not supported in volumes`);
  return fields[fieldPath] ?? '';
}

/** A line `key="value"` for each, in the order of the keys, as Kubernetes writes them. */
function linesOf(texts: Readonly<Record<string, string>> | undefined): string {
  const keys = Object.keys(texts ?? {}).sort();
  return keys.map((key) => `${key}=${quote(texts?.[key] ?? '')}`).join('\n');
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** A text between quotes, with the escapes of Go, in which programs for Kubernetes read it. */
function quote(text: string): string {
  const body = text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (sign) => {
    const code = sign.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (escapes[sign] !== undefined) return escapes[sign];
    if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
    return code < 0x1_0000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return `"${body}"`;
}

/** What the node has for pods: the limit of containers without one. */
export type Allocatable = PodFacts['allocatable'];

/** The text of a container's request or limit, divided and rounded up; without a limit it is what the node has. */
export function resourceText(
  selector: ResourceFieldSelector,
  pod: Pod,
  own: Container | undefined,
  facts: Pick<PodFacts, 'allocatable'>,
): string {
  const name = selector.containerName ?? '';
  const container = name === '' ? own : findContainer(pod, name)?.container;
  if (container === undefined)
    throw new ContainerConfigError(`resourceFieldRef names container "${name}", which the pod does not have`);
  const [part = '', resource = ''] = (selector.resource ?? '').split('.');
  if ((part !== 'limits' && part !== 'requests') || resource === '') {
    throw new ContainerConfigError(
      `resource "${selector.resource ?? ''}" is not supported: use limits.cpu, requests.memory and the like`,
    );
  }
  const quantity = container.resources?.[part]?.[resource];
  const divisor = isZero(selector.divisor?.string) ? undefined : selector.divisor;
  if (resource === 'cpu') {
    const milli = quantity === undefined ? (part === 'limits' ? facts.allocatable.cpuMilli : 0) : quantityMilli(quantity);
    return String(Math.ceil(milli / (divisor === undefined ? 1000 : quantityMilli(divisor))));
  }
  const fallback = part === 'limits' && resource === 'memory' ? facts.allocatable.memoryBytes : 0;
  const value = quantity === undefined ? fallback : quantityValue(quantity);
  return String(Math.ceil(value / (divisor === undefined ? 1 : quantityValue(divisor))));
}

function isZero(text: string | undefined): boolean {
  return text === undefined || text === '' || text === '0';
}
