import { type ApiError, type ErrorCode, type ErrorReason, reasonsOfCodes } from '../../../api/errors/index.ts';
import { patchedText } from './decoding-text.ts';
import { causeField, type StatusSubject, statusText, subjectOf, violationText } from './status-text.ts';

/** Kubernetes' `Status`, the answer of a request that failed. */
export interface StatusObject {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: object;
  readonly status: 'Failure' | 'Success';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  /** The status of HTTP; of an object that was deleted at once, none. */
  readonly code?: number;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  readonly retryAfterSeconds?: number;
}

/** By reason, as Kubernetes has it; what is not there goes by its code. */
const byReason: Readonly<Record<string, number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  UnsupportedMediaType: 415,
  NotAcceptable: 406,
  RequestEntityTooLarge: 413,
  RequestHeaderFieldsTooLarge: 431,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
};

const byCode: Readonly<Record<ErrorCode, number>> = {
  CANCELLED: 499,
  INVALID_ARGUMENT: 400,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  FAILED_PRECONDITION: 409,
  ABORTED: 409,
  OUT_OF_RANGE: 410,
  UNIMPLEMENTED: 405,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
  UNAUTHENTICATED: 401,
};

/** Kubernetes' reason for each code, for reasons that only Berth has. */
const reasons = { ...reasonsOfCodes, CANCELLED: 'Timeout', FAILED_PRECONDITION: 'Conflict' } as const;

/** What could not be read is a bad request, however many fields are wrong; what a patch makes is invalid. */
function reasonOf({ parts, reason, code }: ApiError): ErrorReason {
  if (parts?.of === 'decoding') return 'BadRequest';
  if (parts?.of === 'text' || parts?.of === 'forbidden') return parts.reason ?? reason;
  return Object.hasOwn(byReason, reason) ? reason : reasons[code];
}

export const httpCodeOf = (error: ApiError): number => byReason[reasonOf(error)] ?? byCode[error.code];

/** The reasons whose details name what the error is about. */
const named: ReadonlySet<ErrorReason> = new Set([
  ...['NotFound', 'AlreadyExists', 'Conflict', 'Forbidden', 'Invalid', 'MethodNotAllowed', 'Timeout', 'TooManyRequests'],
]);

/** An error as a Status: Kubernetes' code, reason and words, and in its details what it is about and why. */
export function statusOf(error: ApiError, about: StatusSubject = {}): StatusObject {
  const reason = reasonOf(error);
  const subject = subjectOf(error, about);
  const causes = causesOf(error, reason);
  const { retryAfterMs, continueToken } = error;
  const { name, group, kind, resource } = subject;
  const what = reason === 'Invalid' && error.violations.length > 0 && kind !== '' ? kind : resource;
  const isNamed = named.has(reason) && error.parts?.of !== 'patching';
  const details: StatusDetails = {
    ...(isNamed ? { ...(name && { name }), ...(group && { group }), ...(what && { kind: what }) } : {}),
    ...(causes.length > 0 ? { causes } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1_000)) }),
  };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: continueToken === undefined ? {} : { continue: continueToken },
    status: 'Failure',
    message: statusText(error, reason, subject),
    reason,
    ...(Object.keys(details).length > 0 || reason === 'NotFound' ? { details } : {}),
    code: httpCodeOf(error),
  };
}

type Causes = NonNullable<StatusDetails['causes']>;

/** Why: the wrong fields, or what Berth says where Kubernetes' words say less. */
function causesOf(error: ApiError, reason: ErrorReason): Causes {
  const { parts, violations, message } = error;
  if (parts?.of === 'decoding' || parts?.of === 'access') return [];
  if (parts?.of === 'text' && parts.reason !== undefined) return [];
  if (parts?.of === 'patching') return [{ reason: 'FieldValueInvalid', message: patchedText(parts, violations), field: 'patch' }];
  const told = parts?.of === 'forbidden' ? (parts.causes ?? violations) : violations;
  const causes = told.slice(0, MOST_CAUSES).map((each) => {
    const field = causeField(each);
    return { reason: each.reason, message: violationText(each), ...(field && { field }) };
  });
  if (causes.length > 0) return causes;
  if (reason === 'InternalError' || reason === 'MethodNotAllowed' || reason === 'Unauthorized') return [{ message }];
  return reason === error.reason || parts !== undefined ? [] : [{ reason: error.reason, message }];
}

/** More say nothing new, and would make the answer large. */
const MOST_CAUSES = 100;

/** The answer of what succeeded and has no object to show. */
export function successOf(more: Pick<StatusObject, 'details' | 'code'>): StatusObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', ...more };
}
