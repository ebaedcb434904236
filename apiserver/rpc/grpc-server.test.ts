import { once } from 'node:events';
import { connect, type ServerHttp2Session } from 'node:http2';
import { ServerCredentials } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { createGrpcServer, drain, listen } from './grpc-server.ts';

test('a stop ends although a connection was given up in the moment before', async () => {
  const server = createGrpcServer();
  const port = await listen(server, '127.0.0.1:0', ServerCredentials.createInsecure());
  const [http2] = (server as unknown as { http2Servers: ReadonlyMap<NodeJS.EventEmitter, unknown> }).http2Servers.keys();
  const begun = once(http2!, 'session') as Promise<[ServerHttp2Session]>;
  const client = connect(`http://127.0.0.1:${port}`);
  client.on('error', () => {});
  try {
    const [session] = await begun;
    session.destroy();
    expect(session.closed).toBe(false);
    await drain(server, 100);
  } finally {
    client.destroy();
  }
});
