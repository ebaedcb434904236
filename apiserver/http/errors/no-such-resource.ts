import { ApiError } from '../../../api/errors/index.ts';

/** NOT_FOUND, of a path at which there is nothing. */
export function noSuchResource(what: string): ApiError {
  const parts = { of: 'text', message: 'the server could not find the requested resource' } as const;
  return new ApiError('NOT_FOUND', 'NotFound', `${what} is not served`, { parts });
}
