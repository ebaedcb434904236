import type { Job } from '../../generated/types.ts';
import { defineKind } from '../kind.ts';
import { jobColumns } from './columns.ts';
import { defaultJob } from './defaults.ts';
import { jobFields } from './fields.ts';
import { jobLifecycle } from './lifecycle.ts';
import { jobWarnings, validateJob } from './validate.ts';
import { validateJobStatus } from './validate-status.ts';
import { validateJobUpdate } from './validate-update.ts';

export const job = defineKind<Job>()({
  kind: 'Job',
  apiVersion: 'batch/v1',
  plural: 'jobs',
  singular: 'job',
  shortNames: [],
  categories: ['all'],
  namespaced: true,
  message: 'berth.batch.v1.Job',
  service: 'berth.batch.v1.Jobs',
  durability: 'synced',
  hasStatus: true,
  nameRule: 'subdomain',
  defaults: defaultJob,
  validate: validateJob,
  validateUpdate: validateJobUpdate,
  validateStatusUpdate: validateJobStatus,
  warnings: jobWarnings,
  fields: jobFields,
  selectableFields: { 'status.successful': ({ status }) => String(status?.succeeded ?? 0) },
  columns: jobColumns,
  lifecycle: jobLifecycle,
});
