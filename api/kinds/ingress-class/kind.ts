import type { IngressClass } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { ingressClassColumns } from './columns.ts';
import { ingressClassFields } from './fields.ts';
import { validateIngressClass, validateIngressClassUpdate } from './validate.ts';

export const ingressClass = defineKind<IngressClass>()({
  kind: 'IngressClass',
  apiVersion: 'networking.k8s.io/v1',
  plural: 'ingressclasses',
  singular: 'ingressclass',
  shortNames: [],
  namespaced: false,
  message: 'berth.networking.v1.IngressClass',
  service: 'berth.networking.v1.IngressClasses',
  durability: 'synced',
  hasStatus: false,
  nameRule: 'subdomain',
  defaults({ spec }) {
    if (spec?.parameters) spec.parameters.scope ??= 'Cluster';
  },
  validate: validateIngressClass,
  validateUpdate: validateIngressClassUpdate,
  warnings: fieldWarnings('berth.networking.v1.IngressClass', ingressClassFields),
  fields: ingressClassFields,
  selectableFields: {},
  columns: ingressClassColumns,
});
