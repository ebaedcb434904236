import type { ReplicationController } from '../../generated/types.ts';
import { formatLabels } from '../../meta/labels.ts';
import { startsWith } from '../first-status.ts';
import { defineKind } from '../kind.ts';
import { workloadWarnings } from '../workload-warnings.ts';
import { replicationControllerColumns } from './columns.ts';
import { defaultReplicationController } from './defaults.ts';
import { replicationControllerFields } from './fields.ts';
import { validateReplicationController, validateReplicationControllerStatus } from './validate.ts';

export const replicationController = defineKind<ReplicationController>()({
  kind: 'ReplicationController',
  apiVersion: 'v1',
  plural: 'replicationcontrollers',
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.core.v1.ReplicationController',
  service: 'berth.core.v1.ReplicationControllers',
  durability: 'synced',
  hasStatus: true,
  scale: {
    read: ({ spec, status }) => ({
      replicas: spec?.replicas ?? 0,
      current: status?.replicas ?? 0,
      selector: formatLabels(spec?.selector),
    }),
    write(object, replicas) {
      object.spec = { ...object.spec, replicas };
    },
  },
  nameRule: 'subdomain',
  defaults: defaultReplicationController,
  validate: validateReplicationController,
  validateUpdate: () => [],
  validateStatusUpdate: validateReplicationControllerStatus,
  fields: replicationControllerFields,
  warnings: workloadWarnings('berth.core.v1.ReplicationController', replicationControllerFields),
  selectableFields: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
  columns: replicationControllerColumns,
  lifecycle: { prepareForCreate: startsWith<ReplicationController>({ replicas: 0 }) },
});
