import { ApiError, badRequest, permissionDenied, unauthenticated } from '../../../api/errors/index.ts';
import type { HttpRequest } from '../http-call.ts';

/** As many as 64 groups and 64 texts to impersonate need, and others. */
export const mostHeaders = 256;

/** In bytes, of names and values. */
export const mostHeaderBytes = 64 * 1024;

const reads: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a request of which not everything can be read, or that a web page of another origin may have made a browser
 * send. Throws REQUEST_HEADER_FIELDS_TOO_LARGE, BAD_REQUEST, UNAUTHENTICATED and FORBIDDEN.
 */
export function checkRequest(request: HttpRequest, isUpgrade: boolean): void {
  const { rawHeaders, method = '' } = request;
  // Those that were dropped may say as whom it is to act.
  if (rawHeaders.length > 2 * mostHeaders)
    throw new ApiError(
      'INVALID_ARGUMENT',
      'RequestHeaderFieldsTooLarge',
      `the request has more than ${mostHeaders} headers: send fewer`,
    );
  const { bytes, tokens, hosts } = countsOf(rawHeaders);
  // nghttp2 holds a client of HTTP/2 to the bound only once it has confirmed the settings, which none has to.
  if (bytes > mostHeaderBytes)
    throw new ApiError(
      'INVALID_ARGUMENT',
      'RequestHeaderFieldsTooLarge',
      `the headers of the request have more than ${mostHeaderBytes} bytes: send less`,
    );
  // Node reads the first of them only; what stands between the client and the server may read another.
  if (tokens > 1) throw unauthenticated('the request has more than one header "authorization": send one');
  if (hosts > 1) throw badRequest('the request has more than one header "host": send one');
  if (isUpgrade ? isForeign(request) && isOfBrowser(request) : !reads.has(method) && isForeign(request))
    throw permissionDenied(
      'the request comes from a web page of another origin, which the server does not serve: ' +
        'send a bearer token, or no headers "origin" and "sec-fetch-site"',
    );
}

/** Their bytes, and how often two of them came; names and values alternate. */
function countsOf(rawHeaders: readonly string[]): { readonly bytes: number; readonly tokens: number; readonly hosts: number } {
  let [bytes, tokens, hosts] = [0, 0, 0];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    bytes += name.length + (rawHeaders[i + 1] ?? '').length;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    if (name.length === 13 && name.toLowerCase() === 'authorization') tokens++;
  }
  return { bytes, tokens, hosts };
}

/**
 * Libraries of programs put some origin into a WebSocket's request, Go's "http://localhost", and Kubernetes takes it.
 * Browsers all name themselves so, and let no page name them otherwise there.
 */
const isOfBrowser = ({ headers }: HttpRequest): boolean =>
  headers['sec-fetch-site'] !== undefined || /^\s*Mozilla\//i.test(headers['user-agent'] ?? '');

/**
 * Whether a browser sends it for a page of another origin. A browser presents its certificate with any request, but a
 * token only where the page knows it.
 */
function isForeign({ headers }: HttpRequest): boolean {
  if (headers.authorization !== undefined) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  if (origin === undefined) return false;
  const host = headers[':authority'] ?? headers.host ?? '';
  return !URL.canParse(origin) || !URL.canParse(`https://${host}`) || new URL(origin).host !== new URL(`https://${host}`).host;
}
