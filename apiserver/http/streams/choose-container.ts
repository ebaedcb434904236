import { asApiError, badRequest } from '../../../api/errors/index.ts';
import type { Pod } from '../../../api/generated/types.ts';
import type { ContainerChoice } from '../../tunnel/stream-target.ts';

/**
 * The container that a request names; without a name that of a pod with one alone, as Kubernetes' server has it: its
 * clients look for a default by themselves. Throws BAD_REQUEST with Kubernetes' sentences.
 */
export function requireContainer({ metadata, spec = {} }: Pod, wanted: string | undefined): ContainerChoice {
  const pod = metadata?.name ?? '';
  const main = (spec.containers ?? []).map(({ name = '' }) => name);
  const init = (spec.initContainers ?? []).map(({ name = '' }) => name);
  const ephemeral = (spec.ephemeralContainers ?? []).map((each) => each.ephemeralContainerCommon?.name ?? '');
  if (wanted) {
    if ([...main, ...init, ...ephemeral].includes(wanted)) return { container: wanted, note: undefined };
    throw badRequest(`container ${wanted} is not valid for pod ${pod}`);
  }
  const [only, ...more] = main;
  if (only !== undefined && more.length === 0) return { container: only, note: undefined };
  const choices = main.length > 0 ? `, choose one of: [${main.join(' ')}]` : '';
  const others = init.length > 0 ? ` or one of the init containers: [${init.join(' ')}]` : '';
  throw badRequest(`a container name must be specified for pod ${pod}${choices}${others}`);
}

/** Whether a container runs as far as its node has told; it may have started or ended since. */
export function isToldToRun(pod: Pod, container: string): boolean {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  return all.find(({ name }) => name === container)?.state?.running !== undefined;
}

/** Throws the error, that of a pod without a node as Kubernetes has it: BAD_REQUEST. */
export function rejectUnassigned(error: unknown): never {
  const known = asApiError(error);
  if (known?.reason === 'PodNotAssigned') throw badRequest(`pod ${known.subject.name ?? ''} does not have a host assigned`);
  throw error;
}
