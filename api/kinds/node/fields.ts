import type { FieldSupport, FieldSupportTable } from '../field-support.ts';

const works: FieldSupport = { support: 'works' };
const warned = (why: string): FieldSupport => ({ support: 'warned', why });
const refused = (why: string): FieldSupport => ({ support: 'refused', why });

/**
 * What Berth does with each field of a Node that a client may send. Warnings are worked out on the object as the client sent it,
 * before defaults. Status is kept as the agent writes it. test/conformance/proto-fields.test.ts holds the table to the proto.
 */
export const nodeFields: FieldSupportTable = {
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
  'metadata.managedFields[]': warned('server-side apply does not exist yet, so nobody owns single fields'),
  'spec.unschedulable': works,
  'spec.taints[]': works,
  'spec.podCIDR': warned("pods get addresses of the engine's own network"),
  'spec.podCIDRs[]': warned("pods get addresses of the engine's own network"),
  'spec.providerID': warned('no cloud is asked about its machines; the identifier is only kept'),
  'spec.externalID': warned('nothing reads it; Kubernetes no longer does either'),
  'spec.configSource': refused('an agent takes its settings from its command line, never from a ConfigMap'),
  status: works,
};
