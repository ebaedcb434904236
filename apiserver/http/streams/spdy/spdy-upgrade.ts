import { createWebSocketStream, type WebSocket } from 'ws';
import { badRequest } from '../../../../api/errors/index.ts';
import type { Upgrade } from '../upgrade.ts';
import { SpdyConnection, type SpdyConnectionOptions } from './spdy-connection.ts';

const PROTOCOL_HEADER = 'x-stream-protocol-version';

/**
 * The first protocol of the client's that the server speaks, too; the server's last where the client names none.
 * Throws BAD_REQUEST where there is none.
 */
export function chooseProtocol({ request }: Upgrade, spoken: readonly string[]): string {
  const offered = [request.headers[PROTOCOL_HEADER] ?? []].flat().join(',');
  const names = offered
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  const chosen = names.length === 0 ? spoken.at(-1) : names.find((each) => spoken.includes(each));
  if (chosen === undefined)
    throw badRequest(
      `unable to upgrade: unable to negotiate protocol: client supports [${offered.slice(0, 200)}], server accepts [${spoken.join(' ')}]`,
    );
  return chosen;
}

/** Answers the request by a connection of SPDY/3.1; the caller runs it. */
export function openSpdy(upgrade: Upgrade, protocol: string, options: SpdyConnectionOptions): SpdyConnection {
  const { socket, head } = upgrade.take();
  if (head.length > 0) socket.unshift(head);
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
  socket.write(`${[...lines, `X-Stream-Protocol-Version: ${protocol}`].join('\r\n')}\r\n\r\n`);
  return new SpdyConnection(socket, options);
}

/** SPDY/3.1 in the messages of a WebSocket, which carry it in pieces of any size. */
export function tunnelSpdy(ws: WebSocket, options: SpdyConnectionOptions): SpdyConnection {
  return new SpdyConnection(createWebSocketStream(ws), options);
}
