import type { ErrorCode, ErrorReason } from './api-error.ts';

/** The reason of an error of which only the code is known, as of one that a proxy in between made. */
export const reasonsOfCodes: Readonly<Record<ErrorCode, ErrorReason>> = {
  CANCELLED: 'Cancelled',
  INVALID_ARGUMENT: 'BadRequest',
  NOT_FOUND: 'NotFound',
  ALREADY_EXISTS: 'AlreadyExists',
  PERMISSION_DENIED: 'Forbidden',
  RESOURCE_EXHAUSTED: 'TooManyRequests',
  FAILED_PRECONDITION: 'FailedPrecondition',
  ABORTED: 'Conflict',
  OUT_OF_RANGE: 'Expired',
  UNIMPLEMENTED: 'MethodNotAllowed',
  INTERNAL: 'InternalError',
  UNAVAILABLE: 'ServiceUnavailable',
  DEADLINE_EXCEEDED: 'Timeout',
  UNAUTHENTICATED: 'Unauthorized',
};
