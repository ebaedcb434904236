import type { CSINode } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { csiNodeColumns } from './columns.ts';
import { csiNodeFields } from './fields.ts';
import { validateCsiNode, validateCsiNodeUpdate } from './validate.ts';

export const csiNode = defineKind<CSINode>()({
  kind: 'CSINode',
  apiVersion: 'storage.k8s.io/v1',
  plural: 'csinodes',
  singular: 'csinode',
  shortNames: [],
  namespaced: false,
  message: 'berth.storage.v1.CSINode',
  service: 'berth.storage.v1.CSINodes',
  durability: 'synced',
  updateNeedsVersion: true,
  hasStatus: false,
  generation: 'nothing',
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateCsiNode,
  validateUpdate: validateCsiNodeUpdate,
  warnings: fieldWarnings('berth.storage.v1.CSINode', csiNodeFields),
  fields: csiNodeFields,
  selectableFields: {},
  columns: csiNodeColumns,
});
