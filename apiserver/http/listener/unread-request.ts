import { constants } from 'node:http2';
import type { HttpRequest, HttpResponse } from '../http-call.ts';
import type { BodilessRequest } from './http2-messages.ts';

/** So long the rest of a refused request is read and thrown away, so that its client gets to read the answer. */
const lingerMs = 1_000;

/** Whether the headers of a request say that a body follows. */
export function hasBody(request: HttpRequest): request is Exclude<HttpRequest, BodilessRequest> {
  if ('stream' in request) return !request.stream.endAfterHeaders;
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** Tells a client that waits for it, by "Expect: 100-continue", to send the body. */
export function askForBody({ headers }: HttpRequest, response: HttpResponse): void {
  if (/^100-continue$/i.test(headers.expect ?? '')) response.writeContinue();
}

const isUnread = (request: HttpRequest): request is Exclude<HttpRequest, BodilessRequest> =>
  !request.complete && hasBody(request);

/**
 * For a request that may last and whose body is not read: one in pieces of a byte would take megabytes of memory until
 * the client is held back.
 */
export function discardBody(request: HttpRequest): void {
  if (hasBody(request)) request.resume();
}

/** Before the head of an answer: a connection of HTTP/1.1 cannot be used again behind a body that was not read. */
export function announceEnd(request: HttpRequest, response: HttpResponse): void {
  if (!('stream' in request) && isUnread(request)) response.shouldKeepAlive = false;
}

/**
 * Ends an answer whose length its head has told, though the request may not have come in whole: a connection of
 * HTTP/1.1 is closed, a stream of HTTP/2 reset, which tells the client to send no more of it.
 */
export function endAnswer(request: HttpRequest, response: HttpResponse, body?: Uint8Array): void {
  if (!isUnread(request)) {
    response.end(body);
    return;
  }
  if ('stream' in request) {
    const { stream } = request;
    // Node keeps the reset of a stream that it reads until the client sends something more.
    stream.pause();
    stream.once('finish', () => {
      stream.close(constants.NGHTTP2_NO_ERROR);
      // What has come of the body is read by nothing: without its end the stream would never close.
      stream.destroy();
    });
    response.end(body);
    return;
  }
  // Closing a socket with something unread in it makes the client lose the answer.
  if (body) response.write(body);
  const timer = setTimeout(() => response.end(), lingerMs);
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  request.once('end', end);
  request.once('close', end);
  request.once('error', () => {});
  request.resume();
}
