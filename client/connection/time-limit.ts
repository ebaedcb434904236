/**
 * The deadline of one call in milliseconds; undefined: none. `ownMs` is what the caller set for it, `usualMs` the
 * default of its kind of call. `requestTimeoutMs`, where the client has one, bounds the caller's and replaces the
 * default; 0 (as kubectl's `--request-timeout=0`) only removes the default.
 */
export function timeLimit(requestTimeoutMs: number | undefined, ownMs?: number, usualMs?: number): number | undefined {
  if (requestTimeoutMs === undefined) return ownMs ?? usualMs;
  return requestTimeoutMs === 0 ? ownMs : Math.min(ownMs ?? requestTimeoutMs, requestTimeoutMs);
}
