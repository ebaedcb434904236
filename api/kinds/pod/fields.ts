import type { FieldSupportTable } from '../field-support.ts';

/** What Berth does with each field of a Pod; what is not listed works. */
export const podFields: FieldSupportTable = {};
