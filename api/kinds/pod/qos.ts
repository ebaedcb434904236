import type { Container, Pod, Quantity } from '../../generated/types.ts';
import { equalQuantity, isQuantity, quantityMilli } from '../../meta/quantity.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const QOS_RESOURCES = ['cpu', 'memory'] as const;

type Amounts = Readonly<Record<string, Quantity>> | undefined;

/** The class is found before the pod is validated: what is no quantity asks for nothing, and is refused soon. */
const isAmount = (amount: Quantity | undefined): boolean => isQuantity(amount?.string ?? '');

const isSet = (amounts: Amounts, name: string): boolean => isAmount(amounts?.[name]) && quantityMilli(amounts?.[name]) > 0;

/**
 * Kubernetes' class of a pod: it decides which pod is evicted first when a node runs short. Judged by cpu and memory of
 * all containers.
 */
export function qosClass(pod: Pod): QosClass {
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const podLevel = pod.spec?.resources;
  const parts: Pick<Container, 'resources'>[] =
    podLevel && (podLevel.requests || podLevel.limits) ? [{ resources: podLevel }] : containers;
  const asksForAny = parts.some(({ resources }) =>
    QOS_RESOURCES.some((name) => isSet(resources?.requests, name) || isSet(resources?.limits, name)),
  );
  if (!asksForAny) return 'BestEffort';
  return parts.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

function isGuaranteed({ resources }: Pick<Container, 'resources'>): boolean {
  return QOS_RESOURCES.every(
    (name) =>
      isSet(resources?.limits, name) &&
      (!isAmount(resources?.requests?.[name]) || equalQuantity(resources?.requests?.[name], resources?.limits?.[name])),
  );
}
