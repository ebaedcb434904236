import type { HorizontalPodAutoscaler } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { startsWith } from '../first-status.ts';
import { defineKind } from '../kind.ts';
import { horizontalPodAutoscalerColumns } from './columns.ts';
import { defaultHorizontalPodAutoscaler } from './defaults.ts';
import { horizontalPodAutoscalerFields } from './fields.ts';
import { validateHorizontalPodAutoscaler, validateHorizontalPodAutoscalerStatus } from './validate.ts';

export const horizontalPodAutoscaler = defineKind<HorizontalPodAutoscaler>()({
  kind: 'HorizontalPodAutoscaler',
  apiVersion: 'autoscaling/v2',
  plural: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  namespaced: true,
  message: 'berth.autoscaling.v2.HorizontalPodAutoscaler',
  service: 'berth.autoscaling.v2.HorizontalPodAutoscalers',
  durability: 'synced',
  hasStatus: true,
  generation: 'nothing',
  nameRule: 'subdomain',
  defaults: defaultHorizontalPodAutoscaler,
  validate: validateHorizontalPodAutoscaler,
  validateUpdate: () => [],
  validateStatusUpdate: validateHorizontalPodAutoscalerStatus,
  warnings: fieldWarnings('berth.autoscaling.v2.HorizontalPodAutoscaler', horizontalPodAutoscalerFields),
  fields: horizontalPodAutoscalerFields,
  selectableFields: {},
  columns: horizontalPodAutoscalerColumns,
  lifecycle: { prepareForCreate: startsWith<HorizontalPodAutoscaler>({ desiredReplicas: 0 }) },
});
