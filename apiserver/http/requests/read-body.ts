import type { ServerHttp2Session } from 'node:http2';
import { ApiError, badRequest, callCancelled } from '../../../api/errors/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { Arrivals } from '../../connections/arrivals.ts';
import { turnOfLarge } from '../../registry/large-turns.ts';
import { yamlToJson } from '../../registry/read-yaml.ts';
import { otherTypeText } from '../errors/decoding-text.ts';
import type { HttpRequest, HttpResponse } from '../http-call.ts';
import { GatheredBytes } from '../listener/gathered-bytes.ts';
import { BodilessRequest } from '../listener/http2-messages.ts';
import { askForBody, hasBody } from '../listener/unread-request.ts';
import { openEnvelope } from '../protobuf/kubernetes-protobuf.ts';

const YAML = 'application/yaml';
/** As gRPC's. */
const MOST_BYTES = 4 * 1024 * 1024;

/** What a body is read from, and what bounds it. */
export interface BodyWay {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** Whether the client wants another protocol on its connection, which nothing of a body would come over. */
  readonly isUpgrade: boolean;
  readonly arrivals: Arrivals;
}

/**
 * Reads a body as a whole; YAML comes as JSON. Throws REQUEST_ENTITY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for one that is
 * compressed, TIMEOUT for a client that stops sending, and CANCELLED for one that goes.
 */
export async function readBody(way: BodyWay): Promise<Buffer> {
  const { headers } = way.request;
  const encoding = headers['content-encoding'] ?? '';
  if (encoding !== '' && encoding !== 'identity')
    throw unsupportedMedia(`a body with content-encoding "${encoding.slice(0, 64)}" is not read: send it as it is`);
  if (Number(headers['content-length'] ?? 0) > MOST_BYTES) throw tooLarge();
  if (way.isUpgrade && hasBody(way.request)) throw badRequest('a request that asks for another protocol may have no body');
  const body = way.isUpgrade ? Buffer.alloc(0) : await collect(way);
  // Reading some megabytes takes tenths of a second, in which nothing else is served.
  await turnOfLarge(body.length);
  return mediaTypeOf(way.request) === YAML ? Buffer.from(await yamlToJson(body, 'body')) : body;
}

const tooLarge = (): ApiError =>
  new ApiError('INVALID_ARGUMENT', 'RequestEntityTooLarge', `the body is larger than ${MOST_BYTES} bytes`, {
    parts: { of: 'text', message: `Request entity too large: limit is ${MOST_BYTES}` },
  });

function collect({ request, response, arrivals }: BodyWay): Promise<Buffer> {
  // Of a broken connection the requests are destroyed before the responses, and neither emits another 'close'.
  if (response.destroyed || request.destroyed) return Promise.reject(callCancelled());
  if (request instanceof BodilessRequest) return Promise.resolve(Buffer.alloc(0));
  // The client has been authenticated, and may begin.
  askForBody(request, response);
  return new Promise((resolve, reject) => {
    const gathered = new GatheredBytes();
    const fail = (error: ApiError): void => {
      request.removeListener('data', take);
      request.pause();
      gathered.take();
      reject(error);
    };
    const connection = 'stream' in request ? (request.stream.session as ServerHttp2Session | undefined) : request.socket;
    const expire = (message: string): void => fail(new ApiError('DEADLINE_EXCEEDED', 'Timeout', message));
    const count = arrivals.begin({ source: request, connection, expire });
    const take = (chunk: Buffer): void => {
      count(chunk.length);
      if (gathered.length + chunk.length > MOST_BYTES) fail(tooLarge());
      else gathered.add(chunk);
    };
    request.on('data', take);
    // A request closes after its end as well, when its answer is sent.
    let isWhole = false;
    const cancel = (): void => {
      if (!isWhole) fail(callCancelled());
    };
    request.once('end', () => {
      isWhole = true;
      resolve(gathered.take());
    });
    request.once('error', cancel);
    request.once('close', cancel);
  });
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
      if (found.kind !== kind.kind || found.apiVersion !== kind.apiVersion) {
        const text = `the body holds ${found.apiVersion} ${found.kind}, the path expects ${kind.apiVersion} ${kind.kind}`;
        throw badRequest(text, [], { of: 'text', message: otherTypeText(found, kind) });
      }
      return { bytes: found.bytes, format: 'protobuf' };
    }
    default:
      throw unsupported(mediaType, ['application/json', YAML, 'application/vnd.kubernetes.protobuf']);
  }
}

export function unsupported(mediaType: string, known: readonly string[]): ApiError {
  const said = mediaType.slice(0, 200);
  const types = known.join(', ');
  return unsupportedMedia(
    `the body of the request was in an unknown format: "${said}" is none of ${types}`,
    `the body of the request was in an unknown format - accepted media types include: ${types}`,
  );
}

const unsupportedMedia = (message: string, inKubernetes = message): ApiError =>
  new ApiError('INVALID_ARGUMENT', 'UnsupportedMediaType', message, { parts: { of: 'text', message: inKubernetes } });
