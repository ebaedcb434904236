import type { IncomingHttpHeaders } from 'node:http';
import { AUDIT_ID } from '../../calls/request-id.ts';

type Headers = Record<string, string | string[]>;

/** What holds for one connection alone; and what HTTP/2 has no words for. */
const ofConnection: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'expect'],
]);
/** The caller's credentials are this server's alone; other headers could be taken for its word. */
const ofThisServer = /^(?:authorization$|impersonate-|x[-_]remote[-_](?:user|group|uid|extra[-_]))/;
/** Which pages of other origins may read an answer is not a backend's to decide at the API's origin. */
const ofOrigins: ReadonlySet<string> = new Set([
  ...['access-control-allow-credentials', 'access-control-allow-headers', 'access-control-allow-methods'],
  'access-control-allow-origin',
]);

export interface Forwarded {
  readonly headers: IncomingHttpHeaders;
  /** The path under which the client asked. */
  readonly uri: string;
  readonly address: string;
  readonly hasBody: boolean;
}

/** The headers of a request, as the other side gets them. */
export function requestHeaders({ headers, uri, address, hasBody }: Forwarded): Headers {
  const out = without(headers, (name) => name.startsWith(':') || ofThisServer.test(name));
  const host = headers.host ?? (headers[':authority'] as string | undefined);
  if (host !== undefined) out.host = host;
  const before = headers['x-forwarded-for'];
  out['x-forwarded-for'] = [...(before === undefined ? [] : [before].flat()), address].join(', ');
  out['x-forwarded-uri'] = uri;
  if (hasBody && out['content-length'] === undefined) out['transfer-encoding'] = 'chunked';
  return out;
}

/** The headers of an answer, as the client gets them; the id of the call is this server's. */
export function answerHeaders(headers: IncomingHttpHeaders, requestId: string): Headers {
  return { ...without(headers, (name) => ofOrigins.has(name)), [AUDIT_ID]: requestId };
}

function without(headers: IncomingHttpHeaders, drops: (name: string) => boolean): Headers {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const kept = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] =>
      entry[1] !== undefined && !ofConnection.has(entry[0]) && !named.has(entry[0]) && !drops(entry[0]),
  );
  return Object.fromEntries(kept);
}
