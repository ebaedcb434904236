import type { Pod } from '../../generated/types.ts';
import { defineKind } from '../kind.ts';
import { podColumns } from './columns.ts';
import { defaultPod } from './defaults.ts';
import { checkNoEphemeral, podEphemeralContainers } from './ephemeral-containers.ts';
import { podFields } from './fields.ts';
import { podLifecycle } from './lifecycle.ts';
import { checkMergedLabelKeys } from './match-label-keys.ts';
import { podRepeats } from './repeats.ts';
import { podResize } from './resize.ts';
import { checkSchedulingBounds } from './scheduling-bounds.ts';
import { checkMirror } from './static-pods.ts';
import { checkNoPodLimits, podWarnings, validatePod } from './validate.ts';
import { validatePodStatusUpdate, validatePodUpdate } from './validate-update.ts';

export const pod = defineKind<Pod>()({
  kind: 'Pod',
  apiVersion: 'v1',
  plural: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.core.v1.Pod',
  service: 'berth.core.v1.Pods',
  durability: 'synced',
  hasStatus: true,
  conditionsNeed: ['type'],
  subresources: { resize: podResize, ephemeralcontainers: podEphemeralContainers },
  nameRule: 'subdomain',
  defaults: defaultPod,
  validate: validatePod,
  validateCreate: (object) => [
    ...checkNoEphemeral(object),
    ...checkMergedLabelKeys(object),
    ...checkMirror(object),
    ...checkNoPodLimits(object),
    ...checkSchedulingBounds(object),
  ],
  validateUpdate: validatePodUpdate,
  validateStatusUpdate: validatePodStatusUpdate,
  fields: podFields,
  warnings: podWarnings,
  selectableFields: {
    'spec.nodeName': (object) => object.spec?.nodeName ?? '',
    'spec.restartPolicy': (object) => object.spec?.restartPolicy ?? '',
    'spec.schedulerName': (object) => object.spec?.schedulerName ?? '',
    'spec.serviceAccountName': (object) => object.spec?.serviceAccountName ?? '',
    'spec.hostNetwork': (object) => String(object.spec?.hostNetwork ?? false),
    'status.phase': (object) => object.status?.phase ?? '',
    'status.podIP': (object) => object.status?.podIP ?? '',
    'status.podIPs': (object) => (object.status?.podIPs ?? []).map(({ ip = '' }) => ip).join(','),
    'status.nominatedNodeName': (object) => object.status?.nominatedNodeName ?? '',
  },
  columns: podColumns,
  lifecycle: podLifecycle,
  repeats: podRepeats,
});
