import type { Secret } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { secretColumns } from './columns.ts';
import { defaultSecret } from './defaults.ts';
import { secretFields } from './fields.ts';
import { validateSecret, validateSecretUpdate } from './validate.ts';

export const secret = defineKind<Secret>()({
  kind: 'Secret',
  apiVersion: 'v1',
  plural: 'secrets',
  singular: 'secret',
  shortNames: [],
  namespaced: true,
  message: 'berth.core.v1.Secret',
  service: 'berth.core.v1.Secrets',
  durability: 'synced',
  confidential: true,
  hasStatus: false,
  nameRule: 'subdomain',
  defaults: defaultSecret,
  validate: validateSecret,
  validateUpdate: validateSecretUpdate,
  fields: secretFields,
  warnings: fieldWarnings('berth.core.v1.Secret', secretFields),
  selectableFields: { type: (object) => object.type ?? '' },
  columns: secretColumns,
});
