import type { Ingress } from '../../generated/types.ts';

/** The older way to name the class of an Ingress. */
export const classAnnotation = 'kubernetes.io/ingress.class';

/** Whether a new Ingress leaves its class out. */
export function namesNoIngressClass({ metadata, spec }: Ingress): boolean {
  return spec?.ingressClassName === undefined && metadata?.annotations?.[classAnnotation] === undefined;
}
