import type { PriorityClass } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { priorityClassColumns } from './columns.ts';
import { defaultPriorityClass } from './defaults.ts';
import { priorityClassFields } from './fields.ts';
import { validatePriorityClass, validatePriorityClassUpdate } from './validate.ts';

export const priorityClass = defineKind<PriorityClass>()({
  kind: 'PriorityClass',
  apiVersion: 'scheduling.k8s.io/v1',
  plural: 'priorityclasses',
  singular: 'priorityclass',
  shortNames: ['pc'],
  namespaced: false,
  message: 'berth.scheduling.v1.PriorityClass',
  service: 'berth.scheduling.v1.PriorityClasses',
  durability: 'synced',
  hasStatus: false,
  generation: 'birth',
  nameRule: 'subdomain',
  defaults: defaultPriorityClass,
  validate: validatePriorityClass,
  validateUpdate: validatePriorityClassUpdate,
  warnings: fieldWarnings('berth.scheduling.v1.PriorityClass', priorityClassFields),
  fields: priorityClassFields,
  selectableFields: {},
  columns: priorityClassColumns,
});
