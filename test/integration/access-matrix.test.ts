import { credentials, Client as GrpcClient, Metadata, type StatusObject } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { askers, startAskedServer } from './access-askers.ts';
import { type AskedMethod, everyMethod } from './access-requests.ts';
import type { RunningServer } from './apiserver-harness.ts';

// Every method as every built-in role and as no one. What is allowed stands in access-matrix.txt, which a person reads:
// after a change that is meant, `npx vitest run --project integration access-matrix -u` writes it anew.

const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

let server: RunningServer;
let connection: GrpcClient;
const stopping = new AbortController();
let answering: Promise<unknown>;

beforeAll(async () => {
  server = await startAskedServer();
  connection = new GrpcClient(server.info.address, credentials.createSsl(Buffer.from(server.info.ca)));
  // Otherwise questions about placements wait for a scheduler.
  answering = server.client.placements
    .serve('default-scheduler', async () => ({ placements: {}, simulation: { pods: [{}] } }), { signal: stopping.signal })
    .catch(() => {});
});
afterAll(async () => {
  stopping.abort();
  await answering;
  connection.close();
  await server.stop();
  await server.remove();
});

/** The code that a call ends with; 0 when something is answered. Of streams of items the item's. */
function codeOf({ path, request, method }: AskedMethod, token: string | undefined): Promise<number> {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  const nameOf = (type: AskedMethod['method']['resolvedRequestType']) => type?.fullName.slice(1) ?? '';
  const pass = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve) => {
    const call = connection.makeBidiStreamRequest(path, pass, pass, metadata);
    const done = (code: number): void => {
      resolve(code);
      call.cancel();
    };
    call.on('error', () => {});
    call.on('status', ({ code }: StatusObject) => done(code));
    call.on('data', (bytes: Buffer) => {
      const answer = decodeMessage<{ results?: { error?: { code?: number } }[] }>(nameOf(method.resolvedResponseType), bytes);
      done(answer.results?.[0]?.error?.code ?? 0);
    });
    call.write(encodeMessage(nameOf(method.resolvedRequestType), request));
    call.end();
  });
}

test('every method answers users with the permission, and no others', async () => {
  const rows: string[][] = [['', ...askers.map(({ who }) => who)]];
  for (const asked of everyMethod()) {
    const [anonymous, ...codes] = await Promise.all(
      [undefined, ...askers.map(({ who }) => who)].map((who) => codeOf(asked, who)),
    );
    expect(anonymous, `${asked.path} without credentials`).toBe(UNAUTHENTICATED);
    expect(codes, asked.path).not.toContain(UNAUTHENTICATED);
    rows.push([asked.path.slice(1), ...codes.map((code) => (code === PERMISSION_DENIED ? '.' : 'yes'))]);
  }
  // Wide enough that a new method changes no other line.
  const widths = [72, ...askers.map(({ who }) => who.length)];
  const table = rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
  await expect(`${table}\n`).toMatchFileSnapshot('access-matrix.txt');
  // Some ten thousand calls, one method after the other.
}, 180_000);

test('reflection is for authenticated users, and health for all', async () => {
  const code = (path: string, token?: string): Promise<number> => {
    const metadata = new Metadata();
    if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
    const pass = (bytes: Buffer): Buffer => bytes;
    return new Promise((resolve) => {
      const call = connection.makeBidiStreamRequest(path, pass, pass, metadata);
      call.on('error', () => {});
      call.on('data', () => {});
      call.on('status', (status: StatusObject) => resolve(status.code));
      call.write(path.includes('reflection') ? Buffer.from('3a00', 'hex') : Buffer.alloc(0));
      call.end();
    });
  };
  const reflection = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  expect(await Promise.all([code(reflection), code(reflection, 'known')])).toEqual([UNAUTHENTICATED, 0]);
  expect(await code('/grpc.health.v1.Health/Check')).toBe(0);
});
