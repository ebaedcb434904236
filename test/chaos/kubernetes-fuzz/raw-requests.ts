import type { Chance } from '../random.ts';
import type { DoorRequest } from './requests.ts';

const heads = [
  'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
  'Content-Length: 5\r\nContent-Length: 6\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Content-Length: -1\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Expect: 100-continue\r\nContent-Length: 2\r\n',
  'Connection: Upgrade\r\nUpgrade: websocket\r\n',
  'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n',
  'x: a\r\n b\r\n',
  'x\r\n',
  ': x\r\n',
  'x: \0\r\n',
  `x: ${'y'.repeat(70_000)}\r\n`,
  `${'x: y\r\n'.repeat(2_000)}`,
  'Host: a\r\nHost: b\r\n',
  'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n',
];
const bodies = [
  '',
  '0\r\n\r\n',
  '5\r\n{"a":\r\n',
  'zz\r\n',
  'ffffffffffffffff\r\nx',
  '{}',
  '\0'.repeat(500),
  'GET / HTTP/1.1\r\n\r\n',
];
const lines = ['GET', 'POST', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'get', 'G\0T', 'CONNECT', ''];
const webSocket =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const protocols = ['v4.channel.k8s.io', 'v5.channel.k8s.io', 'base64url.bearer.authorization.k8s.io.eA', 'x', ',,', ''];

/** The bytes of a connection of HTTP/1.1: whole requests, halves of them, several, and other protocols. */
export function rawRequest({ method, path }: DoorRequest, chance: Chance): Buffer {
  const { pick, below } = chance;
  const host = 'Host: x\r\n';
  switch (below(6)) {
    case 0:
      return Buffer.from(`${method} ${path} HTTP/1.1\r\n${host}${pick(heads)}\r\n${pick(bodies)}`, 'latin1');
    case 1:
      return Buffer.from(`${pick(lines)} ${path} HTTP/${pick(['1.1', '1.0', '0.9', '9.9', 'x'])}\r\n${host}\r\n`, 'latin1');
    case 2:
      // Several that wait for each other, and a client that goes.
      return Buffer.from(`GET /api/v1/pods?watch=1 HTTP/1.1\r\n${host}\r\n${`GET ${path} HTTP/1.1\r\n${host}\r\n`.repeat(9)}`);
    case 3: {
      const protocol = `Sec-WebSocket-Protocol: ${pick(protocols)}\r\n`;
      const exec = '/api/v1/namespaces/default/pods/a/exec?command=x&stdout=1';
      const frames = Buffer.from(Array.from({ length: below(40) }, () => below(256)));
      const target = pick([exec, path, '/api/v1/pods?watch=1', '/api/v1/namespaces/default/pods/a/portforward?ports=80']);
      return Buffer.concat([Buffer.from(`GET ${target} HTTP/1.1\r\n${host}${webSocket}${protocol}\r\n`, 'latin1'), frames]);
    }
    case 4:
      return Buffer.from(`POST ${path} HTTP/1.1\r\n${host}Content-Length: 4000\r\n\r\n{"half":`, 'latin1');
    default:
      return Buffer.from(Array.from({ length: 1 + below(300) }, () => below(256)));
  }
}
