import type { FieldSupportTable } from '../field-support.ts';

/** What Berth does with each field of a Node; what is not listed works. */
export const nodeFields: FieldSupportTable = {};
