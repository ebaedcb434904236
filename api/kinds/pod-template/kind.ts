import type { PodTemplate } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { podTemplateColumns } from './columns.ts';
import { defaultTemplate } from './defaults.ts';
import { podTemplateFields } from './fields.ts';
import { templateNotes, validatePodTemplate } from './validate.ts';

const fieldsNotActedOn = fieldWarnings('berth.core.v1.PodTemplate', podTemplateFields);

export const podTemplate = defineKind<PodTemplate>()({
  kind: 'PodTemplate',
  apiVersion: 'v1',
  plural: 'podtemplates',
  singular: 'podtemplate',
  shortNames: [],
  namespaced: true,
  message: 'berth.core.v1.PodTemplate',
  service: 'berth.core.v1.PodTemplates',
  durability: 'synced',
  hasStatus: false,
  generation: 'content',
  nameRule: 'subdomain',
  defaults: ({ template }) => defaultTemplate(template),
  validate: validatePodTemplate,
  validateUpdate: () => [],
  fields: podTemplateFields,
  warnings: (object) => [...fieldsNotActedOn(object), ...templateNotes('template', object.template)],
  selectableFields: {},
  columns: podTemplateColumns,
});
