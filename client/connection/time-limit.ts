/**
 * How long a call may take of which `ownMs` is the own time, or `usualMs` the usual one; undefined: without bound. 0
 * for all calls: only their own.
 */
export function timeLimit(requestTimeoutMs: number | undefined, ownMs?: number, usualMs?: number): number | undefined {
  if (requestTimeoutMs === undefined) return ownMs ?? usualMs;
  return requestTimeoutMs === 0 ? ownMs : Math.min(ownMs ?? requestTimeoutMs, requestTimeoutMs);
}
