import type { Job, JobSpec, ObjectMeta } from '../../generated/types.ts';
import type { Lifecycle } from '../kind.ts';
import { jobLabels, labelsOfPods } from './labels.ts';

export const jobLifecycle: Lifecycle<Job> = {
  prepareForCreate({ metadata, spec }) {
    if (!metadata || !spec) return;
    if (!spec.manualSelector) generateSelector(metadata, spec);
    labelLikePods(metadata, spec);
  },
  prepareForUpdate({ metadata, spec }) {
    if (metadata && spec) labelLikePods(metadata, spec);
  },
};

/** Labels and a selector that no other job has. Those that the client sent stay, and are refused if they differ. */
function generateSelector({ uid = '', name = '' }: ObjectMeta, spec: JobSpec): void {
  const template = { ...spec.template };
  template.metadata = { ...template.metadata, labels: { ...labelsOfPods({ uid, name }), ...template.metadata?.labels } };
  spec.template = template;
  spec.selector = { ...spec.selector, matchLabels: { [jobLabels.controllerUid]: uid, ...spec.selector?.matchLabels } };
}

/** A job without labels has those of its pods. */
function labelLikePods(metadata: ObjectMeta, { template }: JobSpec): void {
  const labels = template?.metadata?.labels;
  if (labels && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
}
