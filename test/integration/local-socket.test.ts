import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { localSocketPath } from '../../api/meta/local-socket.ts';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import type { ServerOptions } from '../../apiserver/main.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// The server listens for commands of its own user without TLS: what that gives, and to whom.
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function started(options: Partial<ServerOptions> = {}): Promise<RunningServer & { readonly socket: string }> {
  const server = await startServer(options);
  cleanups.push(async () => {
    await server.stop();
    await server.remove();
  });
  return { ...server, socket: localSocketPath(server.dataDir, server.info.address)! };
}

const adminToken = ({ dataDir }: { readonly dataDir: string }): string =>
  readFileSync(join(dataDir, 'pki', 'admin.token'), 'utf8').trim();

interface Review {
  readonly status: { readonly userInfo: { readonly username: string; readonly groups: readonly string[] } };
}

/** Who a caller with this token is, or the code with which the server refuses. */
function whoAmI(path: string, token?: string): Promise<unknown> {
  const client = new grpc.Client(`unix:${path}`, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      '/berth.authentication.v1.SelfSubjectReviews/Create',
      (request: object) => Buffer.from(encodeMessage('berth.authentication.v1.SelfSubjectReviewWriteRequest', request)),
      (bytes) => decodeMessage<Review>('berth.authentication.v1.SelfSubjectReview', bytes),
      { object: {} },
      metadata,
      { deadline: Date.now() + 10_000 },
      (error, answer) => {
        client.close();
        resolve(error ? error.code : answer!.status.userInfo);
      },
    );
  });
}

it('serves callers with a token, and no others, on a socket that only its own user can open', async () => {
  const metrics = new MetricsRegistry();
  const server = await started({ metrics });
  expect(lstatSync(server.socket).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(server.socket)).mode & 0o777).toBe(0o700);
  expect(await whoAmI(server.socket, adminToken(server))).toMatchObject({
    username: 'admin',
    groups: expect.arrayContaining(['system:masters']),
  });
  // Being the server's own user is not enough.
  expect(await whoAmI(server.socket)).toBe(grpc.status.UNAUTHENTICATED);
  expect(await whoAmI(server.socket, 'another')).toBe(grpc.status.UNAUTHENTICATED);
});

it('counts its connections among those of the server, as those of one peer', async () => {
  const metrics = new MetricsRegistry();
  const server = await started({ metrics, listenerLimits: { unknownPerPeer: 2 } });
  for (let at = 0; at < 5; at++) expect(await whoAmI(server.socket)).toBe(grpc.status.UNAUTHENTICATED);
  const idle = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { connect } = process.getBuiltinModule('node:net');
      const socket = connect(server.socket);
      cleanups.push(() => socket.destroy());
      await new Promise((connected) => socket.once('connect', connected));
      return socket;
    }),
  );
  // The oldest make room for the others, and a caller that is known is served all the same.
  await new Promise((closed) => idle[0]!.resume().once('close', closed));
  expect(await whoAmI(server.socket, adminToken(server))).toMatchObject({ username: 'admin' });
  expect(formatMetrics(metrics, 'prometheus')).toMatch(/refused_total\{reason="peer-limit"\} [1-9]/);
});

it('takes the place of a socket that a killed server left, and leaves none when it stops', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-socket-'));
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  mkdirSync(join(dataDir, 'run'));
  const stale = [join(dataDir, 'run', 'api-127.0.0.1:1.sock'), join(dataDir, 'run', 'server.pid')];
  const left: Server = createServer();
  await new Promise<void>((listening) => left.listen(stale[0], listening));
  cleanups.push(() => left.close());
  const server = await startServer({ dataDir });
  const socket = localSocketPath(dataDir, server.info.address)!;
  expect(() => lstatSync(stale[0]!)).toThrow('ENOENT');
  expect(await whoAmI(socket, adminToken({ dataDir }))).toMatchObject({ username: 'admin' });
  await server.stop();
  expect(() => lstatSync(socket)).toThrow('ENOENT');
});

it("of two servers serves each one's own token only", async () => {
  const [one, other] = [await started(), await started()];
  expect(await whoAmI(one.socket, adminToken(one))).toMatchObject({ username: 'admin' });
  expect(await whoAmI(one.socket, adminToken(other))).toBe(grpc.status.UNAUTHENTICATED);
});

it('serves without one where the path is too long for a socket, or the folder is not its own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-socket-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const long = join(folder, 'x'.repeat(80));
  const file = join(folder, 'file');
  for (const dataDir of [long, file]) mkdirSync(dataDir, { mode: 0o700 });
  // In the place of the folder.
  const blocker = createServer();
  await new Promise<void>((listening) => blocker.listen(join(file, 'run'), listening));
  cleanups.push(() => blocker.close());
  for (const dataDir of [long, file]) {
    const server = await startServer({ dataDir });
    expect(await server.client.namespaces.get({ name: 'default' })).toMatchObject({ metadata: { name: 'default' } });
    await server.stop();
  }
});
