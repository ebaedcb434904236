import type { RefusalReason } from './refusals.ts';

const sentence =
  'This port speaks gRPC over TLS (HTTP/2). Use "berth", a gRPC client, or "openssl s_client" to look at the certificate.\n';

/** The response to HTTP/1.1 clients, with or without TLS: a browser, curl, a health check. */
export const plainAnswer = [
  'HTTP/1.1 400 Bad Request',
  'Content-Type: text/plain; charset=utf-8',
  `Content-Length: ${Buffer.byteLength(sentence)}`,
  'Connection: close',
  '',
  sentence,
].join('\r\n');

/**
 * nghttp2's words for it: a flood was detected, too many settings, too many CONTINUATION frames; and of Node.js, a
 * callback that failed.
 */
export const floodCodes: ReadonlySet<number> = new Set([-904, -537, -905, -902]);

const codes: Readonly<Record<string, RefusalReason>> = {
  ERR_TLS_HANDSHAKE_TIMEOUT: 'handshake-timeout',
  ERR_SSL_HTTP_REQUEST: 'plaintext',
  ERR_SSL_HTTPS_PROXY_REQUEST: 'plaintext',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'tls-version',
  ERR_SSL_NO_SHARED_CIPHER: 'tls',
};

/** Why a handshake did not come to an end; undefined where the client just left. */
export function handshakeRefusal({ code = '' }: NodeJS.ErrnoException): RefusalReason | undefined {
  const known = codes[code];
  if (known) return known;
  return code.startsWith('ERR_SSL') ? 'tls' : undefined;
}
