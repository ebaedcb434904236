import type { LabelSelector } from '../generated/types.ts';
import { formatLabelSelector } from '../meta/labels.ts';
import type { Scaling } from './kind.ts';

interface Scalable {
  spec?: { replicas?: number; selector?: LabelSelector };
  status?: { replicas?: number };
}

/** How kinds are scaled whose spec has a number of replicas and a selector. */
export function replicaScaling<T extends Scalable>(): Scaling<T> {
  return {
    read: ({ spec, status }) => ({
      replicas: spec?.replicas ?? 0,
      current: status?.replicas ?? 0,
      selector: formatLabelSelector(spec?.selector),
    }),
    write(object, replicas) {
      object.spec = { ...object.spec, replicas };
    },
  };
}
