import type { ApiError, ErrorCode } from '../../api/errors/index.ts';

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

export const httpCodeOf = ({ reason, code }: ApiError): number => byReason[reason] ?? byCode[code];

/** What a request was about, for errors that do not say so themselves. */
export interface StatusSubject {
  readonly group?: string;
  readonly resource?: string;
  readonly name?: string;
}

/** An error as a Status. Its details name the resource of the request, as Kubernetes' do. */
export function statusOf(error: ApiError, { group, resource, name }: StatusSubject = {}): StatusObject {
  const { reason, message, violations, retryAfterMs, subject } = error;
  const causes = violations.map((each) => ({
    reason: each.reason,
    message: each.description,
    ...(each.field && { field: each.field }),
  }));
  const said = subject.name ?? name;
  const kind = resource ?? subject.kind;
  const details: StatusDetails = {
    ...(said ? { name: said } : {}),
    ...(group ? { group } : {}),
    ...(kind ? { kind } : {}),
    ...(causes.length > 0 ? { causes } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1_000)) }),
  };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(Object.keys(details).length > 0 ? { details } : {}),
    code: httpCodeOf(error),
  };
}

/** The answer of what succeeded and has no object to show. */
export function successOf(more: Pick<StatusObject, 'details' | 'code'>): StatusObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', ...more };
}
