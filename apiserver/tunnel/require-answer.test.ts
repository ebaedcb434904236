import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { requireAnswer } from './require-answer.ts';

/** What comes of a request to a server that says this: the body, or why there is none. */
async function outcomeOf(said: string): Promise<string> {
  let socket: Socket | undefined;
  const server = createServer((connection) => {
    socket = connection.on('error', () => {});
    connection.once('data', () => connection.end(said));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await new Promise<string>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port }, (message) => {
        let body = '';
        message.setEncoding('utf8').on('data', (piece: string) => {
          body += piece;
        });
        message.on('end', () => resolve(body));
      });
      sent.on('error', ({ message }) => resolve(message));
      requireAnswer(sent, ({ message }) => resolve(message));
      sent.on('close', () => setTimeout(() => reject(new Error('nothing was heard')), 500).unref());
      sent.end();
    });
  } finally {
    socket?.destroy();
    server.close();
  }
}

const hint = 'HTTP/1.1 103 Early Hints\r\n\r\n';

it.each([
  [
    'switches the protocol unasked',
    'HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    'closed before an answer came',
  ],
  ['answers six times with 1xx', hint.repeat(6), 'too many 1xx informational responses'],
])('a server that %s has not answered', async (_what, said, why) => expect(await outcomeOf(said)).toContain(why));

it('an answer after five of 1xx, whose end is that of the connection, is one', async () =>
  expect(await outcomeOf(`${hint.repeat(5)}HTTP/1.1 200 OK\r\n\r\nhello`)).toBe('hello'));
