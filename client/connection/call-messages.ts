import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { badRequest, internal } from '../../api/errors/index.ts';
import type { Method } from './method.ts';

/**
 * As the server sends: pages are at most 2 MiB, but hold one object at least,
 * which may have 1.5 MiB and six times that in JSON.
 */
export const maxMessageBytes = 12 * 1024 * 1024;

/** Messages that are Buffers go out as they are. Throws INVALID_ARGUMENT for what is no such message. */
export function encodeRequest(method: Method, request: object): Buffer {
  if (Buffer.isBuffer(request)) return request;
  try {
    return encodeMessage(method.request, request);
  } catch (cause) {
    throw badRequest(`call ${method.path}: the request is no ${method.request}: ${(cause as Error).message}`);
  }
}

/** Throws INTERNAL for what is no such message. */
export function decodeResponse<T extends object>(method: Method, bytes: Buffer): T {
  try {
    return decodeMessage<T>(method.response, bytes);
  } catch (cause) {
    throw internal(`call ${method.path}: the answer is no ${method.response}`, cause);
  }
}

/**
 * The server's warnings in a value of metadata: percent-encoded,
 * since metadata is ASCII and several may arrive joined by commas.
 */
export function readWarnings(values: readonly (string | Buffer)[]): string[] {
  return values.flatMap((value) => String(value).split(',')).map((text) => decodeText(text.trim()));
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not encoded: better as it is than not at all.
    return text;
  }
}
