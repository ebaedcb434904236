import type { Deployment } from '../../generated/types.ts';
import { defineKind } from '../kind.ts';
import { replicaScaling } from '../workload-scale.ts';
import { workloadWarnings } from '../workload-warnings.ts';
import { deploymentColumns } from './columns.ts';
import { defaultDeployment } from './defaults.ts';
import { deploymentFields } from './fields.ts';
import { validateDeployment, validateDeploymentStatus, validateDeploymentUpdate } from './validate.ts';

export const deployment = defineKind<Deployment>()({
  kind: 'Deployment',
  apiVersion: 'apps/v1',
  plural: 'deployments',
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.apps.v1.Deployment',
  service: 'berth.apps.v1.Deployments',
  durability: 'synced',
  hasStatus: true,
  generation: 'spec and annotations',
  scale: replicaScaling(),
  nameRule: 'subdomain',
  defaults: defaultDeployment,
  validate: validateDeployment,
  validateUpdate: validateDeploymentUpdate,
  validateStatusUpdate: validateDeploymentStatus,
  fields: deploymentFields,
  warnings: workloadWarnings('berth.apps.v1.Deployment', deploymentFields),
  selectableFields: {},
  columns: deploymentColumns,
});
