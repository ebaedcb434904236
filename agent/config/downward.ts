import type { Container, ObjectFieldSelector, Pod, ResourceFieldSelector } from '../../api/generated/types.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { ContainerConfigError } from './config-error.ts';

/** What a pod's own fields come from, besides the pod: they are known only once its sandbox runs. */
export interface PodFacts {
  readonly podIP: string | undefined;
  readonly hostIP: string;
  readonly allocatable: { readonly cpuMilli: number; readonly memoryBytes: number };
}

const quoted = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/** The text of a field of the pod, as the downward API gives it to environment variables. */
export function fieldText(selector: ObjectFieldSelector, pod: Pod, facts: PodFacts): string {
  const path = selector.fieldPath ?? '';
  const entry = quoted.exec(path);
  if (entry) return pod.metadata?.[entry[1] as 'labels' | 'annotations']?.[entry[2] ?? ''] ?? '';
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

/** The text of a container's request or limit, divided and rounded up; without a limit it is what the node has. */
export function resourceText(selector: ResourceFieldSelector, pod: Pod, own: Container, facts: PodFacts): string {
  const name = selector.containerName ?? '';
  const container = name === '' ? own : pod.spec?.containers?.find((candidate) => candidate.name === name);
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
