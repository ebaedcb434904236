import type { ReplicaSet } from '../../generated/types.ts';
import { startsWith } from '../first-status.ts';
import { defineKind } from '../kind.ts';
import { replicaScaling } from '../workload-scale.ts';
import { workloadWarnings } from '../workload-warnings.ts';
import { replicaSetColumns } from './columns.ts';
import { defaultReplicaSet } from './defaults.ts';
import { replicaSetFields } from './fields.ts';
import { validateReplicaSet, validateReplicaSetStatus, validateReplicaSetUpdate } from './validate.ts';

export const replicaSet = defineKind<ReplicaSet>()({
  kind: 'ReplicaSet',
  apiVersion: 'apps/v1',
  plural: 'replicasets',
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.apps.v1.ReplicaSet',
  service: 'berth.apps.v1.ReplicaSets',
  durability: 'synced',
  hasStatus: true,
  scale: replicaScaling(),
  nameRule: 'subdomain',
  defaults: defaultReplicaSet,
  validate: validateReplicaSet,
  validateUpdate: validateReplicaSetUpdate,
  validateStatusUpdate: validateReplicaSetStatus,
  fields: replicaSetFields,
  warnings: workloadWarnings('berth.apps.v1.ReplicaSet', replicaSetFields),
  selectableFields: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
  columns: replicaSetColumns,
  lifecycle: { prepareForCreate: startsWith<ReplicaSet>({ replicas: 0 }) },
});
