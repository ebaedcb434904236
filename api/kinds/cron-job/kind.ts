import type { CronJob } from '../../generated/types.ts';
import { defineKind } from '../kind.ts';
import { cronJobColumns } from './columns.ts';
import { defaultCronJob } from './defaults.ts';
import { cronJobFields } from './fields.ts';
import { cronJobWarnings, validateCronJob, validateCronJobName } from './validate.ts';

export const cronJob = defineKind<CronJob>()({
  kind: 'CronJob',
  apiVersion: 'batch/v1',
  plural: 'cronjobs',
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.batch.v1.CronJob',
  service: 'berth.batch.v1.CronJobs',
  durability: 'synced',
  hasStatus: true,
  nameRule: 'subdomain',
  defaults: defaultCronJob,
  validate: validateCronJob,
  validateCreate: validateCronJobName,
  validateUpdate: () => [],
  warnings: cronJobWarnings,
  fields: cronJobFields,
  selectableFields: {},
  columns: cronJobColumns,
});
