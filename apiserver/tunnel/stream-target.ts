import { badRequest, failedPrecondition, internal, notFound } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { checkName } from '../verbs/check-name.ts';

/** Where a stream leads to. */
export interface StreamTarget {
  readonly node: string;
  readonly uid: string;
  readonly pod: Pod;
}

export interface ContainerChoice {
  readonly container: string;
  /** What the client should know about the choice. */
  readonly note: string | undefined;
}

/**
 * The pod that a request names, and its node. Throws NOT_FOUND, then what `check` throws of the pod, and
 * FAILED_PRECONDITION while it has no node.
 */
export async function findTarget(
  pods: KindStore,
  request: { namespace?: string; name?: string },
  check: (pod: Pod) => void = () => {},
): Promise<StreamTarget> {
  const at = checkName(pods, request);
  const entry = await pods.read(at);
  if (!entry) throw notFound(pods.subject(at));
  const pod: Pod = pods.cache.decoder.decode(entry);
  check(pod);
  const node = pod.spec?.nodeName;
  if (!node) throw failedPrecondition('PodNotAssigned', `pod "${at.name}" is not yet assigned to a node`, pods.subject(at));
  const uid = pod.metadata?.uid;
  if (!uid) throw internal(`pod "${at.name}" has no uid`);
  return { node, uid, pod };
}

/**
 * The container that a request names, the pod's default, or its first. Throws INVALID_ARGUMENT with the names that
 * exist.
 */
export function chooseContainer(pod: Pod, wanted: string | undefined): ContainerChoice {
  const main = (pod.spec?.containers ?? []).map((container) => container.name ?? '');
  const others = [...(pod.spec?.initContainers ?? []).map((each) => each.name ?? ''), ...ephemeralNames(pod)];
  if (wanted) {
    if (main.includes(wanted) || others.includes(wanted)) return { container: wanted, note: undefined };
    const name = pod.metadata?.name ?? '';
    throw badRequest(`pod "${name}" has no container "${wanted}": choose one of ${[...main, ...others].join(', ')}`);
  }
  const preferred = pod.metadata?.annotations?.[annotations.defaultContainer];
  const container = preferred && main.includes(preferred) ? preferred : (main[0] ?? '');
  if (main.length <= 1 || container === preferred) return { container, note: undefined };
  return { container, note: `defaulted container "${container}" out of: ${[...main, ...others].join(', ')}` };
}

function ephemeralNames(pod: Pod): string[] {
  return (pod.spec?.ephemeralContainers ?? []).map((each) => each.ephemeralContainerCommon?.name ?? '');
}
