import { type FieldSupport, type FieldSupportTable, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';
import { persistentVolumeClaimFields } from '../persistent-volume-claim/fields.ts';
import { templateFields } from '../pod-template/fields.ts';

const ownMetadata = ['name', 'labels', 'annotations', 'finalizers[]'];
const notTaken = warned('claims get the labels, annotations and finalizers of their template, and nothing else of its metadata');

/** What becomes of each field of a claim, in the claims that are made. */
function claimFields(at: string): FieldSupportTable {
  const table: Record<string, FieldSupport> = {};
  for (const [path, support] of Object.entries(persistentVolumeClaimFields)) {
    const taken = ownMetadata.some((name) => path === `metadata.${name}`);
    table[`${at}.${path}`] = !path.startsWith('metadata.') ? support : taken ? works : notTaken;
  }
  return table;
}

/** What Berth does with each field of a StatefulSet. */
export const statefulSetFields: FieldSupportTable = {
  ...metadataFields,
  'spec.replicas': works,
  'spec.selector': works,
  ...templateFields('spec.template', 'StatefulSet'),
  ...claimFields('spec.volumeClaimTemplates[]'),
  'spec.serviceName': works,
  'spec.podManagementPolicy': works,
  'spec.updateStrategy': works,
  'spec.revisionHistoryLimit': works,
  'spec.minReadySeconds': works,
  'spec.persistentVolumeClaimRetentionPolicy': works,
  'spec.ordinals': works,
  status: works,
};
