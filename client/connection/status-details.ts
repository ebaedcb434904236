import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import {
  ApiError,
  asApiError,
  type ErrorCode,
  type ErrorReason,
  type ErrorSubject,
  type FieldViolation,
  reasonsOfCodes,
} from '../../api/errors/index.ts';
import type { BadRequest, ErrorInfo, RetryInfo, Status } from '../../api/generated/types.ts';

/** gRPC's status codes by number; what Berth's API does not use is an internal error. */
const codes: readonly (ErrorCode | undefined)[] = [
  undefined,
  'CANCELLED',
  'INTERNAL',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'INTERNAL',
  'UNAUTHENTICATED',
];

const typePrefix = 'type.googleapis.com/';

export function codeOf(number: number): ErrorCode {
  return codes[number] ?? 'INTERNAL';
}

export function reasonOf(code: ErrorCode): ErrorReason {
  return reasonsOfCodes[code];
}

interface Details {
  readonly reason?: string | undefined;
  readonly subject?: ErrorSubject | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly violations?: readonly FieldViolation[];
}

/** Reads one google.protobuf.Any; details of other types say nothing to us. */
function readDetail(typeUrl: string, value: Uint8Array): Details {
  switch (typeUrl.slice(typeUrl.lastIndexOf('/') + 1)) {
    case 'google.rpc.ErrorInfo': {
      const { reason, metadata = {} } = decodeMessage<ErrorInfo>('google.rpc.ErrorInfo', value);
      const { kind, namespace, name, requestId } = metadata;
      const subject = { ...(kind && { kind }), ...(namespace && { namespace }), ...(name && { name }) };
      return { reason, subject, requestId };
    }
    case 'google.rpc.RetryInfo': {
      const delay = decodeMessage<RetryInfo>('google.rpc.RetryInfo', value).retry_delay;
      return { retryAfterMs: (delay?.seconds ?? 0) * 1000 + Math.ceil((delay?.nanos ?? 0) / 1_000_000) };
    }
    case 'google.rpc.BadRequest': {
      const { field_violations: all = [] } = decodeMessage<BadRequest>('google.rpc.BadRequest', value);
      return { violations: all.map(({ field = '', description = '', reason = '' }) => ({ field, description, reason })) };
    }
    default:
      return {};
  }
}

/** An error as it travels in frames and trailers -> the error it was. */
export function fromStatus(status: Status): ApiError {
  const code = codeOf(status.code ?? 2);
  const details: Details = Object.assign(
    {},
    ...(status.details ?? []).map((any) => readDetail(any.type_url ?? '', any.value ?? new Uint8Array())),
  );
  const { violations, retryAfterMs, subject, requestId } = details;
  return new ApiError(code, details.reason || reasonOf(code), status.message ?? '', {
    ...(violations && { violations }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(subject && { subject }),
    requestId,
  });
}

const any = (type: string, value: object) => ({ type_url: typePrefix + type, value: encodeMessage(type, value) });

/**
 * The other way round, for the frames in which an agent says what went wrong. What is no ApiError is an internal error.
 */
export function toStatus(error: unknown): Status {
  const known =
    asApiError(error) ?? new ApiError('INTERNAL', 'InternalError', error instanceof Error ? error.message : String(error));
  const metadata = Object.fromEntries(Object.entries(known.subject).filter(([, value]) => value !== undefined));
  const details = [any('google.rpc.ErrorInfo', { reason: known.reason, domain: 'berth.io', metadata })];
  if (known.violations.length > 0) details.push(any('google.rpc.BadRequest', { field_violations: known.violations }));
  if (known.retryAfterMs !== undefined) {
    const retry_delay = { seconds: Math.floor(known.retryAfterMs / 1000), nanos: (known.retryAfterMs % 1000) * 1_000_000 };
    details.push(any('google.rpc.RetryInfo', { retry_delay }));
  }
  return { code: codes.indexOf(known.code), message: known.message, details } as Status;
}
