import { ApiError, type ErrorCode } from './api-error.ts';

/** The ApiError in an error's chain of causes, if there is one. */
export function asApiError(error: unknown): ApiError | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof ApiError) return at;
  return undefined;
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return asApiError(error)?.code === code;
}

export const isNotFound = (error: unknown): boolean => hasCode(error, 'NOT_FOUND');
export const isAlreadyExists = (error: unknown): boolean => hasCode(error, 'ALREADY_EXISTS');
export const isConflict = (error: unknown): boolean => hasCode(error, 'ABORTED');
export const isInvalid = (error: unknown): boolean => hasCode(error, 'INVALID_ARGUMENT');
export const isExpired = (error: unknown): boolean => hasCode(error, 'OUT_OF_RANGE');
export const isFailedPrecondition = (error: unknown): boolean => hasCode(error, 'FAILED_PRECONDITION');
export const isUnavailable = (error: unknown): boolean => hasCode(error, 'UNAVAILABLE');
export const isPermissionDenied = (error: unknown): boolean => hasCode(error, 'PERMISSION_DENIED');
export const isUnauthenticated = (error: unknown): boolean => hasCode(error, 'UNAUTHENTICATED');
export const isExhausted = (error: unknown): boolean => hasCode(error, 'RESOURCE_EXHAUSTED');
export const isUnimplemented = (error: unknown): boolean => hasCode(error, 'UNIMPLEMENTED');
export const isInternal = (error: unknown): boolean => hasCode(error, 'INTERNAL');
export const isTimeout = (error: unknown): boolean => hasCode(error, 'DEADLINE_EXCEEDED');
export const isCancelled = (error: unknown): boolean => hasCode(error, 'CANCELLED');
