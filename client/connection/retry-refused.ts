import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../api/errors/index.ts';
import { pause } from '../clock.ts';
import type { CallOptions } from '../services/resource-client.ts';

/** For a call that says nothing else. */
export const defaultTimeoutMs = 30_000;
/** A call that the server rejects because of its limits is tried so often. */
const maxAttempts = 8;

/** A call with its time; Infinity: without bound. */
export type LimitedCall = CallOptions & { readonly timeoutMs: number };

/**
 * Makes a call, and makes it again when it was refused before anything was done, all within its time. Throws ApiError.
 */
export async function retryRefused<Res>(call: LimitedCall, once: (call: LimitedCall) => Promise<Res>): Promise<Res> {
  const { timeoutMs } = call;
  const endsAt = Date.now() + timeoutMs;
  let refusal: unknown;
  for (let attempt = 1; ; attempt++) {
    try {
      const leftMs = attempt === 1 ? timeoutMs : Math.max(1, endsAt - Date.now());
      return await once({ ...call, timeoutMs: leftMs });
    } catch (error) {
      // Why a call ran out of time that was refused until then is the refusal.
      if (refusal !== undefined && error instanceof ApiError && error.code === 'DEADLINE_EXCEEDED') throw refusal;
      refusal = error;
      const waitMs = retryDelay(error, attempt);
      if (waitMs === undefined || Date.now() + waitMs >= endsAt) throw error;
      await (call.signal ? pause(waitMs, call.signal) : delay(waitMs));
    }
  }
}

/**
 * How long to wait before the same call is made again; undefined: it is not. Only for calls that were refused before
 * anything was done, by a server that says when to come back; the wait is partly random, so that those who were refused
 * together do not come back together.
 */
function retryDelay(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof ApiError) || error.reason !== 'TooManyRequests' || error.retryAfterMs === undefined) return undefined;
  return attempt < maxAttempts ? error.retryAfterMs * (1 + Math.random()) : undefined;
}
