import type { ErrorCode } from '../../api/errors/index.ts';

/** How calls end, with gRPC's numbers: metrics count calls by these names over every transport. */
export const codes = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const satisfies Record<ErrorCode | 'OK', number>;

const names = new Map<number, string>(Object.entries(codes).map(([name, code]) => [code, name]));

export const nameOfCode = (code: number): string => names.get(code) ?? 'UNKNOWN';
