import { ApiError, asApiError, expired } from '../../api/errors/index.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';

/** The runtime's errors as the API's, for the caller of a stream. */
export function toApiError(error: unknown): ApiError {
  const known = asApiError(error);
  if (known !== undefined) return known;
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof RuntimeError)) return new ApiError('INTERNAL', 'InternalError', message);
  if (error.code === 'not-found') return new ApiError('NOT_FOUND', 'NotFound', message);
  if (error.code === 'unavailable' || error.code === 'timeout') return new ApiError('UNAVAILABLE', 'ServiceUnavailable', message);
  if (error.code === 'overtaken') return expired(message);
  return new ApiError('FAILED_PRECONDITION', 'BadRequest', message);
}
