import { toUSVString } from 'node:util';
import { Metadata } from '@grpc/grpc-js';
import { encodeMessage } from '../../api/codec/message.ts';
import type { ApiError, FieldViolation } from '../../api/errors/index.ts';
import { codes } from '../calls/codes.ts';

/** What gRPC sends at the end of a failed call. */
export interface StatusReply {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

const DOMAIN = 'berth.io';
/**
 * Trailers travel in one header block, of which many clients take 8 KiB (all that stand on gRPC's C core or Java) and
 * refuse the whole answer otherwise. The message stands there twice, once percent-encoded; the details are base64.
 * These bounds together keep below it.
 */
const MAX_MESSAGE = 1_000;
const MAX_VIOLATION_BYTES = 3_000;
const MAX_FIELD = 256;
const MAX_DESCRIPTION = 512;
const MAX_NAMES = { kind: 63, namespace: 63, name: 253 } as const;
/** Tags, lengths and the like around each violation. */
const VIOLATION_OVERHEAD = 10;

/** An ApiError as a gRPC status with google.rpc details in the trailer `grpc-status-details-bin`. */
export function toStatus(error: ApiError, requestId: string): StatusReply {
  const { code, message, bytes } = encodeStatus(error, requestId);
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', bytes);
  return { code, details: message, metadata };
}

/** A google.rpc.Status, and the two of its fields that gRPC says twice. */
export interface EncodedStatus {
  readonly code: number;
  readonly message: string;
  readonly bytes: Buffer;
}

/** An ApiError as an encoded google.rpc.Status. */
export function encodeStatus(error: ApiError, requestId: string): EncodedStatus {
  const code = codes[error.code];
  const message = shorten(error.message, MAX_MESSAGE, percentEncoded);
  const details = [
    any('google.rpc.ErrorInfo', { reason: error.reason, domain: DOMAIN, metadata: { ...subject(error), requestId } }),
  ];
  if (error.violations.length > 0) details.push(any('google.rpc.BadRequest', { field_violations: bounded(error.violations) }));
  if (error.retryAfterMs !== undefined) details.push(any('google.rpc.RetryInfo', { retry_delay: duration(error.retryAfterMs) }));
  return { code, message, bytes: encodeMessage('google.rpc.Status', { code, message, details }) };
}

function subject({ subject }: ApiError): Record<string, string> {
  const names = (['kind', 'namespace', 'name'] as const).filter((key) => subject[key]);
  return Object.fromEntries(names.map((key) => [key, shorten(subject[key]!, MAX_NAMES[key])]));
}

function any(type: string, value: object): object {
  return { type_url: `type.googleapis.com/${type}`, value: encodeMessage(type, value) };
}

function duration(ms: number): object {
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
}

/** As many violations as fit; the last one then says how many more there are. */
function bounded(violations: readonly FieldViolation[]): FieldViolation[] {
  const kept: FieldViolation[] = [];
  let bytes = 0;
  for (const { field, description, reason } of violations) {
    const each = { field: shorten(field, MAX_FIELD), description: shorten(description, MAX_DESCRIPTION), reason };
    bytes += Buffer.byteLength(each.field) + Buffer.byteLength(each.description) + each.reason.length + VIOLATION_OVERHEAD;
    if (bytes > MAX_VIOLATION_BYTES) {
      const more = violations.length - kept.length;
      return [...kept, { field: '', description: `and ${more} more`, reason: 'TooManyViolations' }];
    }
    kept.push(each);
  }
  return kept;
}

const percentEncoded = (text: string): number => encodeURI(text).length;

/** The text, cut where it would be longer than this when sent. */
function shorten(text: string, maximum: number, sizeOf: (text: string) => number = Buffer.byteLength): string {
  let cut = toUSVString(text.slice(0, maximum));
  if (cut.length === text.length && sizeOf(cut) <= maximum) return cut;
  while (sizeOf(cut) > maximum - 3) cut = toUSVString(cut.slice(0, Math.floor((cut.length * (maximum - 3)) / (sizeOf(cut) + 1))));
  return `${cut}...`;
}
