import type { NodeMetrics } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { nodeMetricsColumns } from './columns.ts';
import { nodeMetricsFields } from './fields.ts';
import { validateNodeMetrics } from './validate.ts';

/** The one kind whose plural is its name: "NodeMetrics" is a count of figures already. */
export const nodeMetrics = defineKind<NodeMetrics>()({
  kind: 'NodeMetrics',
  apiVersion: 'metrics.k8s.io/v1beta1',
  plural: 'nodemetrics',
  singular: 'nodemetrics',
  shortNames: [],
  namespaced: false,
  message: 'berth.metrics.v1.NodeMetrics',
  service: 'berth.metrics.v1.NodeMetricsService',
  durability: 'relaxed',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateNodeMetrics,
  validateUpdate: () => [],
  fields: nodeMetricsFields,
  warnings: fieldWarnings('berth.metrics.v1.NodeMetrics', nodeMetricsFields),
  selectableFields: {},
  columns: nodeMetricsColumns,
});
