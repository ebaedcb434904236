import type { DaemonSet } from '../../generated/types.ts';
import { startsWith } from '../first-status.ts';
import { defineKind } from '../kind.ts';
import { workloadWarnings } from '../workload-warnings.ts';
import { daemonSetColumns } from './columns.ts';
import { defaultDaemonSet } from './defaults.ts';
import { daemonSetFields } from './fields.ts';
import { countTemplate, countTemplateChange } from './template-generation.ts';
import { surgeNotes, validateDaemonSet, validateDaemonSetStatus, validateDaemonSetUpdate } from './validate.ts';

const templateWarnings = workloadWarnings('berth.apps.v1.DaemonSet', daemonSetFields);

const startWithCounts = startsWith<DaemonSet>({
  ...{ currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
});

export const daemonSet = defineKind<DaemonSet>()({
  kind: 'DaemonSet',
  apiVersion: 'apps/v1',
  plural: 'daemonsets',
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.apps.v1.DaemonSet',
  service: 'berth.apps.v1.DaemonSets',
  durability: 'synced',
  hasStatus: true,
  nameRule: 'subdomain',
  defaults: defaultDaemonSet,
  validate: validateDaemonSet,
  validateUpdate: validateDaemonSetUpdate,
  validateStatusUpdate: validateDaemonSetStatus,
  fields: daemonSetFields,
  warnings: (object) => [...templateWarnings(object), ...surgeNotes(object)],
  selectableFields: {},
  columns: daemonSetColumns,
  lifecycle: {
    prepareForCreate(object) {
      countTemplate(object);
      startWithCounts(object);
    },
    prepareForUpdate: countTemplateChange,
  },
});
