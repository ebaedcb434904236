import type { PodTemplateSpec } from '../../generated/types.ts';
import { defaultPodSpec } from '../pod/defaults.ts';

/**
 * What Kubernetes fills in in a template, wherever it stands: the defaults of a pod's spec, without those that a pod
 * gets when it is made (its account, tolerations, priority, requests that follow from limits).
 */
export function defaultTemplate(template: PodTemplateSpec | undefined): void {
  if (!template) return;
  template.spec ??= {};
  defaultPodSpec(template.spec);
}
