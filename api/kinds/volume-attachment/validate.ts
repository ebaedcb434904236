import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, tooLong } from '../../errors/violations.ts';
import type { VolumeAttachment, VolumeError } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { subdomainNameError } from '../../meta/names.ts';
import { checkExactlyOne, checkRange, checkRequired, checkRule, type Violations } from '../checks.ts';
import { checkDriverName } from '../csi-names.ts';

/** Kubernetes' bounds. */
const mostMetadataBytes = 256 * 1024;
const mostMessageBytes = 1024;

/** Kubernetes' rules. What an inline volume is made of is the driver's business. */
export function validateVolumeAttachment({ spec = {} }: VolumeAttachment): FieldViolation[] {
  const out: Violations = [];
  const { attacher = '', source = {}, nodeName = '' } = spec;
  const { persistentVolumeName } = source;
  checkDriverName(out, 'spec', '.attacher', attacher);
  checkExactlyOne(out, 'spec.source', source, 'one of inlineVolumeSpec and persistentVolumeName');
  if (persistentVolumeName !== undefined)
    checkRule(out, 'spec.source', '.persistentVolumeName', persistentVolumeName, subdomainNameError(persistentVolumeName));
  checkRequired(out, 'spec', '.nodeName', nodeName);
  if (nodeName) checkRule(out, 'spec', '.nodeName', nodeName, subdomainNameError(nodeName));
  return out;
}

export function validateVolumeAttachmentUpdate(next: VolumeAttachment, previous: VolumeAttachment): FieldViolation[] {
  return equalValues(next.spec, previous.spec) ? [] : [forbidden('spec', 'cannot change; make another object')];
}

export function validateVolumeAttachmentStatus({ status = {} }: VolumeAttachment): FieldViolation[] {
  const out: Violations = [];
  const { attachmentMetadata = {}, attachError, detachError } = status;
  let bytes = 0;
  for (const [name, value] of Object.entries(attachmentMetadata)) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > mostMetadataBytes) out.push(tooLong('status.attachmentMetadata', mostMetadataBytes, 'bytes'));
  if (attachError) checkError(out, 'status.attachError', attachError);
  if (detachError) checkError(out, 'status.detachError', detachError);
  return out;
}

function checkError(out: Violations, at: string, { message = '', errorCode }: VolumeError): void {
  if (Buffer.byteLength(message) > mostMessageBytes) out.push(tooLong(`${at}.message`, mostMessageBytes, 'bytes'));
  checkRange(out, at, '.errorCode', errorCode, 0);
}
