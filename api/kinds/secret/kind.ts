import type { Secret } from '../../generated/types.ts';
import { defineKind } from '../kind.ts';
import { secretColumns } from './columns.ts';
import { defaultSecret } from './defaults.ts';
import { secretFields } from './fields.ts';
import { validateSecret, validateSecretUpdate } from './validate.ts';
import { secretWarnings } from './warnings.ts';

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
  warnings: secretWarnings,
  selectableFields: { type: (object) => object.type ?? '' },
  columns: secretColumns,
});
