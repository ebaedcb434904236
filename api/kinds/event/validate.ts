import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, notSupported, tooLong } from '../../errors/violations.ts';
import type { Event } from '../../generated/types.ts';

const TYPES = ['Normal', 'Warning'];
/** Bounds of events in the form of events.k8s.io, which have an eventTime. */
const MESSAGE_MAX_BYTES = 1024;
const REASON_MAX = 128;

export function validateEvent(event: Event): FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (event.type !== undefined && !TYPES.includes(event.type)) violations.push(notSupported('type', event.type, TYPES));
  // As in Kubernetes: those of the older form are bounded as objects are.
  if (event.eventTime !== undefined) {
    if ((event.reason ?? '').length > REASON_MAX) violations.push(tooLong('reason', REASON_MAX, 'characters'));
    if (Buffer.byteLength(event.message ?? '') > MESSAGE_MAX_BYTES)
      violations.push(tooLong('message', MESSAGE_MAX_BYTES, 'bytes'));
  }
  if ((event.count ?? 0) < 0) violations.push(invalidValue('count', event.count, 'must not be negative'));
  violations.push(...validatePlace(event));
  return violations;
}

/** An event lives beside its object; events about objects without a namespace live in "default" or "kube-system". */
function validatePlace(event: Event): FieldViolation[] {
  const [about, own] = [event.involvedObject?.namespace ?? '', event.metadata?.namespace ?? ''];
  const fits = about === '' ? own === 'default' || own === 'kube-system' : about === own;
  return fits ? [] : [invalidValue('involvedObject.namespace', about, `must agree with metadata.namespace "${own}"`)];
}
