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
  /** The wrong value, as a text, where an error shows one; of a wrong type only what Go calls it ("number"). */
  readonly value?: string;
  /** The rule alone, without the words that the reason stands for; undefined where the description is all there is. */
  readonly detail?: string;
}

/** The object an error is about. */
export interface ErrorSubject {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Its group and plural, where the thrower knows them; doors that speak of resources use them. */
  readonly group?: string;
  readonly resource?: string;
}

/**
 * What an error says beyond its code, reason and subject, for doors that make Kubernetes' sentence of it. Each has
 * data, or a text of Kubernetes' own; no door reads the message.
 */
export type ErrorParts =
  /** The object of the request could not be read: the violations say where. */
  | ({ readonly of: 'decoding' } & ReadMessage)
  /** The same of what a patch makes; `patch` is what was sent. */
  | ({ readonly of: 'patching'; readonly patch: string } & ReadMessage)
  | DeniedAccess
  | { readonly of: 'path'; readonly user: string; readonly verb: string; readonly path: string }
  /** A conflict of one object: why the operation cannot be fulfilled. */
  | { readonly of: 'conflict'; readonly why: string }
  | ForbiddenChange
  /** The whole message, and the reason where Kubernetes has another. */
  | { readonly of: 'text'; readonly message: string; readonly reason?: ErrorReason };

/** A change of an object that is refused: what is behind `is forbidden: `. */
export interface ForbiddenChange {
  readonly of: 'forbidden';
  readonly why: string;
  /** The object, where the error names another one. */
  readonly subject?: ErrorSubject;
  /** Kubernetes' reason and causes, where they are others than the error's. */
  readonly reason?: ErrorReason;
  readonly causes?: readonly FieldViolation[];
}

/** What was read of an object: its kind, and the message that it is. */
export interface ReadMessage {
  readonly kind: string;
  readonly apiVersion: string;
  readonly message: string;
}

/** What a caller was not allowed to do, in the words of roles. */
export interface DeniedAccess {
  readonly of: 'access';
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: of the cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly why: string;
}

export interface ApiErrorOptions {
  readonly violations?: readonly FieldViolation[];
  readonly retryAfterMs?: number;
  readonly subject?: ErrorSubject;
  readonly parts?: ErrorParts | undefined;
  readonly cause?: unknown;
  readonly requestId?: string | undefined;
  readonly continueToken?: string | undefined;
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
  readonly parts: ErrorParts | undefined;
  /** The call's id in the log of the server that refused it; undefined for errors that no server sent. */
  readonly requestId: string | undefined;
  /** Where a list whose own token has expired may go on, through the present objects. */
  readonly continueToken: string | undefined;

  constructor(code: ErrorCode, reason: ErrorReason, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.violations = options.violations ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.subject = options.subject ?? {};
    this.parts = options.parts;
    this.requestId = options.requestId;
    this.continueToken = options.continueToken;
  }
}
