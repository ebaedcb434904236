import type { Node } from '../../generated/types.ts';
import { defineKind } from '../kind.ts';
import { nodeColumns } from './columns.ts';
import { defaultNode } from './defaults.ts';
import { nodeFields } from './fields.ts';
import { nodeWarnings, validateNode, validateNodeUpdate } from './validate.ts';

export const node = defineKind<Node>()({
  kind: 'Node',
  apiVersion: 'v1',
  plural: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  namespaced: false,
  message: 'berth.core.v1.Node',
  service: 'berth.core.v1.Nodes',
  durability: 'synced',
  hasStatus: true,
  generation: 'nothing',
  isCreatedWithStatus: true,
  nameRule: 'subdomain',
  defaults: defaultNode,
  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  fields: nodeFields,
  warnings: nodeWarnings,
  selectableFields: { 'spec.unschedulable': (object) => String(object.spec?.unschedulable ?? false) },
  columns: nodeColumns,
});
