import type { Logger } from 'pino';
import { type ApiError, asApiError, internal } from '../../api/errors/index.ts';

export interface FailedCall {
  readonly method: string;
  readonly requestId: string;
  readonly user: string | undefined;
}

/** Logs an error that a call ends with, and gives what the client may know of it. */
export function judgeError(log: Logger, error: unknown, failed: FailedCall): ApiError {
  const known = asApiError(error);
  if (known && known.code !== 'INTERNAL') {
    log.debug({ ...failed, code: known.code, reason: known.message }, 'a call was refused');
    return known;
  }
  log.error({ err: error, ...failed }, 'a call failed by a fault of this server');
  return known ?? internal(`internal error, request ${failed.requestId}: the server's log says more`);
}
