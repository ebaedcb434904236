import type { ReplicationController } from '../../generated/types.ts';
import { defaultTemplate } from '../pod-template/defaults.ts';

/** One pod, chosen by the labels of the template, which the object itself gets too when it has none. */
export function defaultReplicationController(object: ReplicationController): void {
  object.spec ??= {};
  const { spec } = object;
  spec.replicas ??= 1;
  defaultTemplate(spec.template);
  const labels = spec.template?.metadata?.labels;
  if (!labels) return;
  if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
  if (Object.keys(object.metadata?.labels ?? {}).length === 0) object.metadata = { ...object.metadata, labels: { ...labels } };
}
