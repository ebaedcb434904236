import type { Ingress, IngressClass } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { namesNoIngressClass } from '../../api/kinds/ingress/class-name.ts';
import { newestOf } from '../../api/kinds/newest.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { Eventually } from '../eventually.ts';
import type { Admission } from './admission.ts';

/** All classes, never older than the last acknowledged write. */
export type IngressClassesReader = () => Eventually<readonly IngressClass[]>;

/** As in Kubernetes: a new Ingress that says nothing of its class gets the default one, if there is one. */
export function defaultIngressClassRules(listClasses: IngressClassesReader): Admission {
  const complete = async (ingress: Ingress): Promise<void> => {
    if (!ingress.spec || !namesNoIngressClass(ingress)) return;
    const name = newestOf((await listClasses()).filter(isDefault))?.metadata?.name;
    if (name) ingress.spec.ingressClassName = name;
  };
  return {
    reads: { Ingress: ['IngressClass'] },
    create: (kind, object) => (isKind(kind, 'Ingress') ? complete(object as Ingress) : undefined),
  };
}

const isDefault = ({ metadata }: IngressClass): boolean => metadata?.annotations?.[annotations.defaultIngressClass] === 'true';
