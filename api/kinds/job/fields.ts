import { type FieldSupportTable, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';
import { templateFields } from '../pod-template/fields.ts';

/** What Berth does with the fields of a job's spec, wherever it stands. */
export function jobSpecFields(path: string): FieldSupportTable {
  const own: FieldSupportTable = {
    [`${path}.parallelism`]: works,
    [`${path}.completions`]: works,
    [`${path}.activeDeadlineSeconds`]: works,
    [`${path}.podFailurePolicy`]: works,
    [`${path}.successPolicy`]: works,
    [`${path}.backoffLimit`]: works,
    [`${path}.backoffLimitPerIndex`]: works,
    [`${path}.maxFailedIndexes`]: works,
    [`${path}.selector`]: works,
    [`${path}.manualSelector`]: works,
    [`${path}.ttlSecondsAfterFinished`]: works,
    [`${path}.completionMode`]: works,
    [`${path}.suspend`]: works,
    [`${path}.podReplacementPolicy`]: works,
    [`${path}.managedBy`]: works,
  };
  return { ...own, ...templateFields(`${path}.template`) };
}

/** What Berth does with each field of a Job. */
export const jobFields: FieldSupportTable = { ...metadataFields, ...jobSpecFields('spec'), status: works };
