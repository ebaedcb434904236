import { expect, it } from 'vitest';
import { RuntimeError, type RuntimeErrorCode } from '../runtime/runtime-error.ts';
import { toApiError } from './stream-errors.ts';

it.each<[RuntimeErrorCode, string, string]>([
  ['not-found', 'NOT_FOUND', 'NotFound'],
  ['unavailable', 'UNAVAILABLE', 'ServiceUnavailable'],
  ['timeout', 'UNAVAILABLE', 'ServiceUnavailable'],
  ['overtaken', 'OUT_OF_RANGE', 'Expired'],
  ['failed', 'FAILED_PRECONDITION', 'BadRequest'],
])('tells the reader of a stream that failed with %s', (code, apiCode, reason) => {
  expect(toApiError(new RuntimeError(code, 'why'))).toMatchObject({ code: apiCode, reason, message: 'why' });
});
