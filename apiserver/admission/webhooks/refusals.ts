import { ApiError, type ErrorCode, type ErrorReason, objectForbidden } from '../../../api/errors/index.ts';
import { resourceOf } from '../../../api/kinds/identity.ts';
import type { AdmissionAttributes } from '../dynamic.ts';
import type { Verdict } from './review.ts';

/** gRPC's codes and Kubernetes' reasons for the HTTP statuses that a webhook may refuse with. */
const CODES: Readonly<Record<number, readonly [ErrorCode, ErrorReason]>> = {
  400: ['INVALID_ARGUMENT', 'BadRequest'],
  401: ['PERMISSION_DENIED', 'Unauthorized'],
  403: ['PERMISSION_DENIED', 'Forbidden'],
  404: ['NOT_FOUND', 'NotFound'],
  405: ['UNIMPLEMENTED', 'MethodNotAllowed'],
  409: ['ABORTED', 'Conflict'],
  413: ['INVALID_ARGUMENT', 'RequestEntityTooLarge'],
  422: ['INVALID_ARGUMENT', 'Invalid'],
  429: ['RESOURCE_EXHAUSTED', 'TooManyRequests'],
  503: ['UNAVAILABLE', 'ServiceUnavailable'],
  504: ['DEADLINE_EXCEEDED', 'Timeout'],
};

/** A webhook has refused the request. */
export function denied(webhook: string, { message, httpCode, reason }: Verdict): ApiError {
  const fallback: readonly [ErrorCode, ErrorReason] = httpCode < 500 ? CODES[400]! : ['INTERNAL', 'InternalError'];
  const [code, usual] = CODES[httpCode] ?? fallback;
  const why = message === '' ? 'denied the request without explanation' : `denied the request: ${message}`;
  const text = `admission webhook "${webhook}" ${why}`;
  const parts = { of: 'text', message: text } as const;
  return new ApiError(code, /^[A-Z][A-Za-z]{0,62}$/.test(reason) ? reason : usual, text, { parts });
}

/** A webhook could not be asked, or gave no usable answer, and its failure policy is "Fail". */
export function failed(webhook: string, failure: Error): ApiError {
  return new ApiError('INTERNAL', 'InternalError', `failed calling webhook "${webhook}": ${failure.message}`, { cause: failure });
}

/** A match condition fails, and the failure policy is "Fail": as in Kubernetes that forbids the request. */
export function unjudged(webhook: string, failure: Error, { kind, name }: Pick<AdmissionAttributes, 'kind' | 'name'>): ApiError {
  return objectForbidden(resourceOf(kind), name, `admission webhook "${webhook}": ${failure.message}`);
}

/** A webhook does more than to answer, also for a dry run. */
export function notForDryRun(webhook: string): ApiError {
  const why = `admission webhook "${webhook}" does not support dry run: its sideEffects are neither None nor NoneOnDryRun`;
  return new ApiError('INVALID_ARGUMENT', 'BadRequest', why);
}
