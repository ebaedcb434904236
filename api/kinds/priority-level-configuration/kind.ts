import type { PriorityLevelConfiguration } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { priorityLevelConfigurationColumns } from './columns.ts';
import { defaultPriorityLevel } from './defaults.ts';
import { priorityLevelConfigurationFields } from './fields.ts';
import { validatePriorityLevel } from './validate.ts';

export const priorityLevelConfiguration = defineKind<PriorityLevelConfiguration>()({
  kind: 'PriorityLevelConfiguration',
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
  plural: 'prioritylevelconfigurations',
  singular: 'prioritylevelconfiguration',
  shortNames: [],
  namespaced: false,
  message: 'berth.flowcontrol.v1.PriorityLevelConfiguration',
  service: 'berth.flowcontrol.v1.PriorityLevelConfigurations',
  durability: 'synced',
  hasStatus: true,
  conditionsNeed: ['type', 'once'],
  nameRule: 'subdomain',
  defaults: defaultPriorityLevel,
  validate: validatePriorityLevel,
  validateUpdate: () => [],
  warnings: fieldWarnings('berth.flowcontrol.v1.PriorityLevelConfiguration', priorityLevelConfigurationFields),
  fields: priorityLevelConfigurationFields,
  selectableFields: {},
  columns: priorityLevelConfigurationColumns,
});
