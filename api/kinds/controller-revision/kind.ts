import type { ControllerRevision } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { controllerRevisionColumns } from './columns.ts';
import { controllerRevisionFields } from './fields.ts';
import { keepData, validateControllerRevision, validateControllerRevisionUpdate } from './validate.ts';

export const controllerRevision = defineKind<ControllerRevision>()({
  kind: 'ControllerRevision',
  apiVersion: 'apps/v1',
  plural: 'controllerrevisions',
  singular: 'controllerrevision',
  shortNames: [],
  namespaced: true,
  message: 'berth.apps.v1.ControllerRevision',
  service: 'berth.apps.v1.ControllerRevisions',
  durability: 'synced',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateControllerRevision,
  validateUpdate: validateControllerRevisionUpdate,
  fields: controllerRevisionFields,
  warnings: fieldWarnings('berth.apps.v1.ControllerRevision', controllerRevisionFields),
  selectableFields: {},
  columns: controllerRevisionColumns,
  lifecycle: { prepareForUpdate: keepData },
});
