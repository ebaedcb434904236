import type { Ingress, IngressClass } from '../../api/generated/types.ts';
import { isKind } from '../../api/kinds/index.ts';
import { namesNoIngressClass } from '../../api/kinds/ingress/class-name.ts';
import { newestOf } from '../../api/kinds/newest.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { Admission } from './admission.ts';

/** All classes, never older than the last acknowledged write. */
export type IngressClassesReader = () => Promise<readonly IngressClass[]>;

/** As in Kubernetes: a new Ingress that says nothing of its class gets the default one, if there is one. */
export function defaultIngressClassRules(listClasses: IngressClassesReader): Admission {
  return {
    reads: { Ingress: ['IngressClass'] },
    async create(kind, object) {
      const ingress = object as Ingress;
      if (!isKind(kind, 'Ingress') || !ingress.spec || !namesNoIngressClass(ingress)) return;
      const name = newestOf((await listClasses()).filter(isDefault))?.metadata?.name;
      if (name) ingress.spec.ingressClassName = name;
    },
  };
}

const isDefault = ({ metadata }: IngressClass): boolean => metadata?.annotations?.[annotations.defaultIngressClass] === 'true';
