import type { ServiceError } from '@grpc/grpc-js';
import { decodeMessage } from '../../api/codec/message.ts';
import { ApiError, type ErrorCode } from '../../api/errors/index.ts';
import type { Status } from '../../api/generated/types.ts';
import { codeOf, fromStatus, reasonOf } from './status-details.ts';

/** Which call failed, for the message. */
export interface FailedCall {
  readonly address: string;
  /** e.g. "/berth.core.v1.Pods/Get". */
  readonly path: string;
  readonly timeoutMs?: number | undefined;
  /** A stream may have been answered before it failed. */
  readonly isStream?: boolean;
}

/** How a call ended, as the gRPC library says it. */
export type FailedStatus = Error &
  Pick<ServiceError, 'code' | 'details'> & { readonly metadata?: { get(name: string): readonly (string | Buffer)[] } };

/** Translates the gRPC library's errors; no other module sees one. */
export function fromServiceError(error: unknown, call: FailedCall): ApiError {
  if (error instanceof ApiError) return error;
  if (!isServiceError(error))
    return new ApiError('INTERNAL', 'InternalError', `call ${call.path}: ${String(error)}`, { cause: error });
  const status = readStatus(error);
  if (status) return fromStatus(status);
  const code = codeOf(error.code);
  return new ApiError(code, reasonOf(code), messageOf(code, error, call), { cause: error });
}

export function cancelled(call: Pick<FailedCall, 'path'>): ApiError {
  return new ApiError('CANCELLED', 'Cancelled', `call ${call.path}: aborted by the caller`);
}

/** The time for an answer is over. */
export function unanswered(call: FailedCall): ApiError {
  return new ApiError('DEADLINE_EXCEEDED', 'Timeout', timeoutText(call));
}

function timeoutText({ address, path, timeoutMs = 0, isStream = false }: FailedCall): string {
  const what = isStream
    ? `${path} of the API server at ${address} did not end`
    : `the API server at ${address} did not answer ${path}`;
  return `${what} within ${timeoutMs} ms`;
}

function isServiceError(error: unknown): error is FailedStatus {
  return error instanceof Error && typeof (error as Partial<ServiceError>).code === 'number';
}

/** What the server says of its error; undefined when the error was made on the way. */
function readStatus(error: FailedStatus): Status | undefined {
  const [bytes] = error.metadata?.get('grpc-status-details-bin') ?? [];
  if (!(bytes instanceof Buffer)) return undefined;
  try {
    return decodeMessage<Status>('google.rpc.Status', bytes);
  } catch {
    // Details of another make; code and message remain.
    return undefined;
  }
}

function messageOf(code: ErrorCode, error: FailedStatus, call: FailedCall): string {
  switch (code) {
    case 'UNAVAILABLE':
      return `cannot reach the API server at ${call.address}: ${plainCause(error.details)}`;
    case 'DEADLINE_EXCEEDED':
      return timeoutText(call);
    case 'RESOURCE_EXHAUSTED':
      // The server's own refusals come with details; this one is the library's.
      return `the message of ${call.path} is too large: objects are at most 1.5 MiB`;
    default:
      return error.details || `call ${call.path}: ${error.message}`;
  }
}

/** The library gives the cause as text only; these are the words a person needs. Only the message depends on them. */
const plainCauses: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'connection refused; is it running? "berth up" starts it'],
  [/ENOTFOUND|EAI_AGAIN|Name resolution failed/, 'the name cannot be resolved'],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/, 'no way to it; check the address, the network and the firewall'],
  [/ECONNRESET|EPIPE|GOAWAY|Connection dropped|closed/i, 'the connection was lost'],
  [/certificate has expired|CERT_HAS_EXPIRED/, 'its certificate has expired'],
  [/not yet valid/, 'its certificate is not valid yet; check the clocks'],
  [/altnames|ERR_TLS_CERT_ALTNAME/, 'its certificate was made for other addresses'],
  [/self[- ]signed|unable to (verify|get)|signature failure/, 'its certificate was signed by another CA than the one given'],
  [/alert (bad|unknown|certificate)|alert number 4[2-8]/, 'it refused the client certificate'],
  [/wrong version number|ERR_HTTP2|Parse Error/i, 'something else answers there'],
];

function plainCause(details: string): string {
  return plainCauses.find(([pattern]) => pattern.test(details))?.[1] ?? details;
}
