import type { CustomResourceDefinition } from '../../generated/types.ts';
import { finalizers } from '../../meta/well-known.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { validateApproval } from './approval.ts';
import { customResourceDefinitionColumns } from './columns.ts';
import { defaultCustomResourceDefinition } from './defaults.ts';
import { customResourceDefinitionFields } from './fields.ts';
import { keepSchemas } from './keep-schemas.ts';
import { validateCustomResourceDefinition } from './validate.ts';
import { validateCustomResourceDefinitionStatus, validateCustomResourceDefinitionUpdate } from './validate-update.ts';

export const customResourceDefinition = defineKind<CustomResourceDefinition>()({
  kind: 'CustomResourceDefinition',
  apiVersion: 'apiextensions.k8s.io/v1',
  plural: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  message: 'berth.apiextensions.v1.CustomResourceDefinition',
  service: 'berth.apiextensions.v1.CustomResourceDefinitions',
  durability: 'synced',
  updateNeedsVersion: true,
  hasStatus: true,
  nameRule: 'subdomain',
  defaults: defaultCustomResourceDefinition,
  validate: validateCustomResourceDefinition,
  validateCreate: validateApproval,
  validateUpdate: validateCustomResourceDefinitionUpdate,
  validateStatusUpdate: validateCustomResourceDefinitionStatus,
  warnings: fieldWarnings('berth.apiextensions.v1.CustomResourceDefinition', customResourceDefinitionFields),
  fields: customResourceDefinitionFields,
  selectableFields: {},
  columns: customResourceDefinitionColumns,
  lifecycle: {
    prepareForCreate(definition) {
      const { metadata = {} } = definition;
      const others = (metadata.finalizers ?? []).filter((name) => name !== finalizers.customResources);
      definition.metadata = { ...metadata, finalizers: [...others, finalizers.customResources] };
    },
    prepareForUpdate: keepSchemas,
  },
});
