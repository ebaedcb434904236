import { ApiError, type ErrorParts, type ErrorReason, type ErrorSubject, type FieldViolation } from './api-error.ts';
import { violationLine } from './violations.ts';

function named(subject: ErrorSubject): string {
  const kind = (subject.kind ?? 'object').toLowerCase();
  const place = subject.namespace ? ` in namespace "${subject.namespace}"` : '';
  return `${kind} "${subject.name ?? ''}"${place}`;
}

/** The object does not exist. */
export function notFound(subject: ErrorSubject): ApiError {
  return new ApiError('NOT_FOUND', 'NotFound', `${named(subject)} not found`, { subject });
}

/** An object of this name exists. */
export function alreadyExists(subject: ErrorSubject): ApiError {
  return new ApiError('ALREADY_EXISTS', 'AlreadyExists', `${named(subject)} already exists`, { subject });
}

/**
 * The write was based on a version that is no longer the newest, or lost against another writer: read again and retry.
 */
export function conflict(subject: ErrorSubject, why: string, inKubernetes = why): ApiError {
  const parts = { of: 'conflict', why: inKubernetes } as const;
  return new ApiError('ABORTED', 'Conflict', `${named(subject)}: ${why}`, { subject, parts });
}

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/** The same for a version that is not the newest. */
export function outdated(subject: ErrorSubject, why: string): ApiError {
  return conflict(subject, why, MODIFIED);
}

/** The same for an object that has another uid than the write names. */
export function otherUid(subject: ErrorSubject, found: string | undefined, wanted: string): ApiError {
  const why = `the uid is ${found}, not ${wanted}: the object was deleted and made again`;
  return conflict(subject, why, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found ?? ''}`);
}

/** What the caller of a delete said of the object it means, and what the object has. */
export interface UnmetPrecondition {
  readonly field: 'uid' | 'resourceVersion';
  readonly wanted: string;
  readonly found: string;
}

/** A delete of another object, or another version of it, than it names; Kubernetes calls these by their kind. */
export function unmetPrecondition(subject: ErrorSubject, { field, wanted, found }: UnmetPrecondition): ApiError {
  const isUid = field === 'uid';
  const [word, guess] = isUid ? ['UID', 'deleted and then recreated'] : ['ResourceVersion', 'modified'];
  const inKubernetes = `the ${word} in the precondition (${wanted}) does not match the ${word} in record (${found}). The object might have been ${guess}`;
  const why = isUid
    ? `the uid is ${found}, not ${wanted}: the object was deleted and made again`
    : `the version is ${found}, not ${wanted}: read it again and repeat the deletion`;
  return conflict({ ...subject, resource: subject.kind ?? '' }, why, inKubernetes);
}

/** The object breaks rules; all of them are listed. */
export function invalid(subject: ErrorSubject, violations: readonly FieldViolation[], parts?: ErrorParts): ApiError {
  const list = violations.map(violationLine).join('; ');
  return new ApiError('INVALID_ARGUMENT', 'Invalid', `${named(subject)} is invalid: ${list}`, { subject, violations, parts });
}

/** The request itself makes no sense, whatever the object. */
export function badRequest(message: string, violations: readonly FieldViolation[] = [], parts?: ErrorParts): ApiError {
  return new ApiError('INVALID_ARGUMENT', 'BadRequest', message, { violations, parts });
}

/** The system is not in a state that allows this. */
export function failedPrecondition(
  reason: ErrorReason,
  message: string,
  subject: ErrorSubject = {},
  parts?: ErrorParts,
): ApiError {
  return new ApiError('FAILED_PRECONDITION', reason, message, { subject, parts });
}

/** The resource version, or the continue token, is older than what is kept: list again. */
export function expired(message: string): ApiError {
  return new ApiError('OUT_OF_RANGE', 'Expired', message);
}

/** A bound is reached; the call may be tried again after `retryAfterMs`. */
export function exhausted(message: string, retryAfterMs?: number): ApiError {
  return new ApiError('RESOURCE_EXHAUSTED', 'TooManyRequests', message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** The caller is not authenticated. */
export function unauthenticated(message: string): ApiError {
  return new ApiError('UNAUTHENTICATED', 'Unauthorized', message);
}

/** The authenticated caller may not do this. */
export function permissionDenied(message: string, parts?: ErrorParts): ApiError {
  return new ApiError('PERMISSION_DENIED', 'Forbidden', message, { parts });
}

/** The same in Kubernetes' words, of an object by its group resource: "pods", "leases.coordination.k8s.io". */
export function objectForbidden(groupResource: string, name: string, why: string): ApiError {
  const message = `${groupResource} "${name}" is forbidden: ${why}`;
  const [resource = '', ...group] = groupResource.split('.');
  const options = { subject: { resource, group: group.join('.'), name }, parts: { of: 'text', message } } as const;
  return new ApiError('PERMISSION_DENIED', 'Forbidden', message, options);
}

/** The other side cannot be reached or is stopping; the call may be tried again. */
export function unavailable(message: string, cause?: unknown): ApiError {
  return new ApiError('UNAVAILABLE', 'ServiceUnavailable', message, { cause });
}

/** The client has given the call up, or its time is over. */
export function callCancelled(): ApiError {
  return new ApiError('CANCELLED', 'Cancelled', 'the call was cancelled');
}

/** The call exists in the API but not for this kind. */
export function unimplemented(message: string): ApiError {
  return new ApiError('UNIMPLEMENTED', 'MethodNotAllowed', message);
}

/** Something is wrong with Berth itself; the cause is logged, not sent. */
export function internal(message: string, cause?: unknown): ApiError {
  return new ApiError('INTERNAL', 'InternalError', message, { cause });
}
