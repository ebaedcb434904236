import type { StatefulSet } from '../../generated/types.ts';
import { startsWith } from '../first-status.ts';
import { defineKind } from '../kind.ts';
import { replicaScaling } from '../workload-scale.ts';
import { workloadWarnings } from '../workload-warnings.ts';
import { statefulSetColumns } from './columns.ts';
import { defaultStatefulSet } from './defaults.ts';
import { statefulSetFields } from './fields.ts';
import { validateStatefulSet, validateStatefulSetStatus, validateStatefulSetUpdate } from './validate.ts';

export const statefulSet = defineKind<StatefulSet>()({
  kind: 'StatefulSet',
  apiVersion: 'apps/v1',
  plural: 'statefulsets',
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.apps.v1.StatefulSet',
  service: 'berth.apps.v1.StatefulSets',
  durability: 'synced',
  hasStatus: true,
  scale: replicaScaling(),
  // A pod's name is this one with a number behind it, and its host name too.
  nameRule: 'label',
  defaults: defaultStatefulSet,
  validate: validateStatefulSet,
  validateUpdate: validateStatefulSetUpdate,
  validateStatusUpdate: validateStatefulSetStatus,
  fields: statefulSetFields,
  warnings: workloadWarnings('berth.apps.v1.StatefulSet', statefulSetFields),
  selectableFields: {},
  columns: statefulSetColumns,
  lifecycle: { prepareForCreate: startsWith<StatefulSet>({ replicas: 0, availableReplicas: 0 }) },
});
