import type { Ingress } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { classAnnotation } from './class-name.ts';
import { ingressColumns } from './columns.ts';
import { ingressFields } from './fields.ts';
import { validateIngress, validateIngressStatus, validateNewIngress } from './validate.ts';

const warnOfFields = fieldWarnings('berth.networking.v1.Ingress', ingressFields);
const CLASS_WARNING = `annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`;

export const ingress = defineKind<Ingress>()({
  kind: 'Ingress',
  apiVersion: 'networking.k8s.io/v1',
  plural: 'ingresses',
  singular: 'ingress',
  shortNames: ['ing'],
  namespaced: true,
  message: 'berth.networking.v1.Ingress',
  service: 'berth.networking.v1.Ingresses',
  durability: 'synced',
  hasStatus: true,
  nameRule: 'subdomain',
  defaults: () => {},
  validate: validateIngress,
  validateCreate: validateNewIngress,
  validateUpdate: () => [],
  validateStatusUpdate: validateIngressStatus,
  warnings: (object) => [
    ...warnOfFields(object),
    ...(object.metadata?.annotations?.[classAnnotation] === undefined ? [] : [CLASS_WARNING]),
  ],
  fields: ingressFields,
  selectableFields: {},
  columns: ingressColumns,
});
