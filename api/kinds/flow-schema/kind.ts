import type { FlowSchema } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { flowSchemaColumns } from './columns.ts';
import { defaultFlowSchema } from './defaults.ts';
import { flowSchemaFields } from './fields.ts';
import { validateFlowSchema } from './validate.ts';

export const flowSchema = defineKind<FlowSchema>()({
  kind: 'FlowSchema',
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
  plural: 'flowschemas',
  singular: 'flowschema',
  shortNames: [],
  namespaced: false,
  message: 'berth.flowcontrol.v1.FlowSchema',
  service: 'berth.flowcontrol.v1.FlowSchemas',
  durability: 'synced',
  hasStatus: true,
  conditionsNeed: ['type', 'once'],
  nameRule: 'subdomain',
  defaults: defaultFlowSchema,
  validate: validateFlowSchema,
  validateUpdate: () => [],
  warnings: fieldWarnings('berth.flowcontrol.v1.FlowSchema', flowSchemaFields),
  fields: flowSchemaFields,
  selectableFields: {},
  columns: flowSchemaColumns,
});
