import type { LimitRange } from '../../generated/types.ts';
import { fieldWarnings } from '../field-support.ts';
import { defineKind } from '../kind.ts';
import { limitRangeColumns } from './columns.ts';
import { defaultLimitRange } from './defaults.ts';
import { limitRangeFields } from './fields.ts';
import { validateLimitRange } from './validate.ts';

export const limitRange = defineKind<LimitRange>()({
  kind: 'LimitRange',
  apiVersion: 'v1',
  plural: 'limitranges',
  singular: 'limitrange',
  shortNames: ['limits'],
  namespaced: true,
  message: 'berth.core.v1.LimitRange',
  service: 'berth.core.v1.LimitRanges',
  durability: 'synced',
  shownBeforeAcknowledged: true,
  hasStatus: false,
  generation: 'nothing',
  isCreatedByPut: true,
  nameRule: 'subdomain',
  defaults: defaultLimitRange,
  validate: validateLimitRange,
  validateUpdate: () => [],
  warnings: fieldWarnings('berth.core.v1.LimitRange', limitRangeFields),
  fields: limitRangeFields,
  selectableFields: {},
  columns: limitRangeColumns,
});
