import type { Job, JobSpec, ObjectMeta } from '../../generated/types.ts';
import type { Lifecycle } from '../kind.ts';
import { jobLabels, labelsOfPods } from './labels.ts';

export const jobLifecycle: Lifecycle<Job> = {
  prepareForCreate({ metadata, spec }) {
    if (!metadata || !spec) return;
    if (!spec.manualSelector) generateSelector(metadata, spec);
    labelLikePods(metadata, spec);
  },
  prepareForUpdate({ metadata, spec }, previous) {
    if (!metadata || !spec) return;
    if (!previous.spec?.manualSelector) restoreSelector(spec, previous);
    labelLikePods(metadata, spec);
  },
};

/** Labels and a selector that no other job has. Those that the client sent stay, and are refused if they differ. */
function generateSelector({ uid = '', name = '' }: ObjectMeta, spec: JobSpec): void {
  const template = { ...spec.template };
  template.metadata = { ...template.metadata, labels: { ...labelsOfPods({ uid, name }), ...template.metadata?.labels } };
  spec.template = template;
  spec.selector = { ...spec.selector, matchLabels: { [jobLabels.controllerUid]: uid, ...spec.selector?.matchLabels } };
}

/** A manifest that is applied again says nothing of the selector and the labels that were made for the job. */
function restoreSelector(spec: JobSpec, { spec: { selector, template: before } = {} }: Job): void {
  if (selector && !spec.selector) spec.selector = selector;
  const labels = before?.metadata?.labels ?? {};
  const made = Object.values(jobLabels).filter((label) => Object.hasOwn(labels, label));
  if (!spec.template || made.length === 0) return;
  const { metadata } = spec.template;
  const restored = Object.fromEntries(made.map((label) => [label, labels[label]!]));
  spec.template = { ...spec.template, metadata: { ...metadata, labels: { ...restored, ...metadata?.labels } } };
}

/** A job without labels has those of its pods. */
function labelLikePods(metadata: ObjectMeta, { template }: JobSpec): void {
  const labels = template?.metadata?.labels;
  if (labels && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
}
