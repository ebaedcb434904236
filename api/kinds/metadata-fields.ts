import { type FieldSupportTable, warned, works } from './field-support.ts';

/** What Berth does with the fields of `metadata`, which are those of every kind. */
export const metadataFields: FieldSupportTable = {
  'metadata.name': works,
  'metadata.generateName': works,
  'metadata.namespace': works,
  'metadata.uid': works,
  'metadata.resourceVersion': works,
  'metadata.generation': works,
  'metadata.creationTimestamp': works,
  'metadata.deletionTimestamp': works,
  'metadata.deletionGracePeriodSeconds': works,
  'metadata.labels': works,
  'metadata.annotations': works,
  'metadata.selfLink': warned('nothing reads it; Kubernetes no longer does either'),
  'metadata.ownerReferences[]': works,
  'metadata.finalizers[]': works,
  'metadata.managedFields[]': works,
};
