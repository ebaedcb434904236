import { ApiError, badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { readYaml } from '../registry/read-yaml.ts';
import type { HttpRequest } from './http-call.ts';
import { openEnvelope } from './kubernetes-protobuf.ts';

const YAML = 'application/yaml';
/** As gRPC's. */
const MOST_BYTES = 4 * 1024 * 1024;
/** A body comes within it, or not at all. */
const BODY_MS = 30_000;

/**
 * Reads a body as a whole; YAML comes as JSON. Throws REQUEST_ENTITY_TOO_LARGE
 * and TIMEOUT for a client that stops sending.
 */
export async function readBody(request: HttpRequest): Promise<Buffer> {
  const tooLarge = (): ApiError =>
    new ApiError('INVALID_ARGUMENT', 'RequestEntityTooLarge', `the body is larger than ${MOST_BYTES} bytes`, {
      parts: { of: 'text', message: `Request entity too large: limit is ${MOST_BYTES}` },
    });
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  const timer = setTimeout(
    () => request.destroy(new ApiError('DEADLINE_EXCEEDED', 'Timeout', `the body did not come within ${BODY_MS / 1_000} s`)),
    BODY_MS,
  );
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MOST_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
  const body = Buffer.concat(chunks, length);
  return mediaTypeOf(request) === YAML ? Buffer.from(JSON.stringify(await readYaml(body, 'body'))) : body;
}

/** A body that holds an object, as the verbs take it. */
export interface ObjectBody {
  readonly bytes: Uint8Array;
  readonly format: 'protobuf' | 'json';
}

/** The media type of a request, without its parameters; JSON where it says none. */
export function mediaTypeOf(request: HttpRequest): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase() || 'application/json';
}

/** An object of a kind in a body that was read. Throws UNSUPPORTED_MEDIA_TYPE, and BAD_REQUEST for another kind's. */
export function objectBody(mediaType: string, body: Buffer, kind: Pick<Kind, 'kind' | 'apiVersion'>): ObjectBody {
  switch (mediaType) {
    case 'application/json':
    case YAML:
      return { bytes: body, format: 'json' };
    case 'application/vnd.kubernetes.protobuf': {
      const found = openEnvelope(body);
      if (found.kind !== kind.kind || found.apiVersion !== kind.apiVersion)
        throw badRequest(`the body holds ${found.apiVersion} ${found.kind}, the path expects ${kind.apiVersion} ${kind.kind}`);
      return { bytes: found.bytes, format: 'protobuf' };
    }
    default:
      throw unsupported(mediaType, ['application/json', YAML, 'application/vnd.kubernetes.protobuf']);
  }
}

export function unsupported(mediaType: string, known: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format: "${mediaType}" is none of ${known.join(', ')}`;
  const types = known.join(', ');
  const inKubernetes = `the body of the request was in an unknown format - accepted media types include: ${types}`;
  const parts = { of: 'text', message: inKubernetes } as const;
  return new ApiError('INVALID_ARGUMENT', 'UnsupportedMediaType', message, { parts });
}
