/** The gRPC codes that Berth's API uses; every error carries one. */
export type ErrorCode =
  | 'CANCELLED'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'OUT_OF_RANGE'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED'
  | 'UNAUTHENTICATED';

/**
 * Machine-readable reasons, in Kubernetes' words (metav1.StatusReason). The set is open: a client must accept others.
 */
export type ErrorReason =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'BadRequest'
  | 'Forbidden'
  | 'Unauthorized'
  | 'Expired'
  | 'TooManyRequests'
  | 'ServiceUnavailable'
  | 'Timeout'
  | 'InternalError'
  | 'MethodNotAllowed'
  | (string & {});

/**
 * One wrong field: its path ("spec.containers[0].image"), what is wrong in words,
 * and a reason such as "FieldValueRequired".
 */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
  readonly reason: string;
}

/** The object an error is about. */
export interface ErrorSubject {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

export interface ApiErrorOptions {
  readonly violations?: readonly FieldViolation[];
  readonly retryAfterMs?: number;
  readonly subject?: ErrorSubject;
  readonly cause?: unknown;
  readonly requestId?: string | undefined;
}

/**
 * The one error of Berth's API, the same class on client and server. Made by the named constructors of this folder,
 * read by its predicates. The message is for people: lower case, names the thing, and says what to do where the user
 * can do something.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly reason: ErrorReason;
  readonly violations: readonly FieldViolation[];
  /** The least time to wait before the call is tried again; undefined where waiting does not help. */
  readonly retryAfterMs: number | undefined;
  readonly subject: ErrorSubject;
  /** The call's id in the log of the server that refused it; undefined for errors that no server sent. */
  readonly requestId: string | undefined;

  constructor(code: ErrorCode, reason: ErrorReason, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.violations = options.violations ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.subject = options.subject ?? {};
    this.requestId = options.requestId;
  }
}
