import type { IncomingHttpHeaders } from 'node:http';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';

/**
 * A page in a browser cannot send a bearer token with a WebSocket, so Kubernetes takes one as a subprotocol, beside a
 * real one. Moves it to where tokens are: behind it the request is as any other's, and no error repeats the token.
 */
export function takeBearerProtocol(headers: IncomingHttpHeaders): void {
  const offered = headers['sec-websocket-protocol']?.split(',').map((each) => each.trim()) ?? [];
  const tokens = offered.filter((each) => each.startsWith(PREFIX));
  if (tokens.length === 0) return;
  headers['sec-websocket-protocol'] = offered.filter((each) => !tokens.includes(each)).join(', ');
  // Not taken apart: whether several, or one beside the header, are as good as none, authentication says.
  const encoded = tokens.map((each) => each.slice(PREFIX.length)).join(' ');
  headers.authorization ??= `Bearer ${/^[\w-]+$/.test(encoded) ? Buffer.from(encoded, 'base64url').toString('utf8') : '-'}`;
}
