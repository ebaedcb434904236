import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { asksForPassword } from './registry-challenge.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A server without TLS that gives every client this answer, or what the function writes. */
async function registry(answer: string | ((socket: Socket) => void)): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => (typeof answer === 'string' ? socket.end(answer) : answer(socket)));
  });
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}/team/app`;
}
const refusal = (challenge: string) => `HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: ${challenge}\r\nContent-Length: 0\r\n\r\n`;

it.each([
  ['with a user and a password', refusal('Basic realm="Registry"'), true],
  ['with a token that is given without a login', refusal('Bearer realm="https://auth.example.com/token"'), false],
  ['nothing', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', false],
])('a registry asks for %s', async (_title, answer, expected) => {
  expect(await asksForPassword(await registry(answer), 10_000)).toBe(expected);
});

it('a registry that is away asks for nothing, nor does a name without a registry', async () => {
  expect(await asksForPassword('127.0.0.1:1/team/app', 10_000)).toBe(false);
  expect(await asksForPassword('library/nginx', 10_000)).toBe(false);
});

it('a registry that answers drop by drop is waited for no longer than is said', async () => {
  const repository = await registry((socket) => {
    socket.write('HTTP/1.1 401 Unauthorized\r\nX-Slow: ');
    const timer = setInterval(() => socket.write('x'), 10);
    socket.once('close', () => clearInterval(timer));
  });
  expect(await asksForPassword(repository, 300)).toBe(false);
});
