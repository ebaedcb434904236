import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBriefly } from '../../client/connect-briefly.ts';
import { type ApiError, type Client, type ConnectOptions, connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
const clients: Client[] = [];

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  for (const client of clients) client.close();
  await server.stop();
  await server.remove();
});

/** How the tests below connect: as programs that live long, and as those that make a call and end. */
let how: typeof connect = connect;

function connectAs(options: Partial<ConnectOptions>): Client {
  const client = how({ address: server.info.address, ca: server.info.ca, ...options });
  clients.push(client);
  return client;
}

/** The error of a call that must fail. */
async function failure(call: Promise<unknown>): Promise<ApiError> {
  return call.then(
    () => expect.unreachable('the call should have failed'),
    (error) => error as ApiError,
  );
}

async function read(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

/** A closed port. */
async function freeAddress(): Promise<string> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  await new Promise((resolve) => listener.close(resolve));
  return `127.0.0.1:${port}`;
}

describe.each([
  ['that lives long', connect],
  ['that is brief', connectBriefly],
])('a connection %s', (_, connecting) => {
  beforeAll(() => {
    how = connecting;
  });

  describe('authentication', () => {
    const plain = 'no credentials: present a client certificate of this cluster, or send "authorization: Bearer TOKEN"';

    it('fails without credentials with a plain message, in calls and streams', async () => {
      const nobody = connectAs({});
      const expected = { code: 'UNAUTHENTICATED', reason: 'Unauthorized', message: plain };
      expect(await failure(nobody.pods.list())).toMatchObject(expected);
      const { signal } = new AbortController();
      expect(await failure(read(nobody.pods.watch({}, { signal })))).toMatchObject(expected);
      const exec = nobody.pods.exec({ namespace: 'default', name: 'web' }, { command: ['true'] });
      expect(await failure(read(exec.output()))).toMatchObject(expected);
      expect(await failure(exec.exitCode())).toMatchObject(expected);
    });

    it('fails with the reason for a rejected certificate', async () => {
      const { issueCertificate } = await import('../../apiserver/pki/certificates.ts');
      const file = (name: string): Promise<string> => readFile(join(server.dataDir, 'pki', name), 'utf8');
      const authority = { certificate: await file('ca.crt'), key: await file('ca.key') };
      const subject = { commonName: 'ada', organizations: [] };
      const asAda = async (from: typeof authority, now: Date) => {
        const { certificate: cert, key } = await issueCertificate(from, subject, undefined, now);
        return failure(connectAs({ cert, key }).pods.list());
      };
      expect(await asAda(authority, new Date('2001-01-01'))).toMatchObject({
        code: 'UNAUTHENTICATED',
        message: expect.stringMatching(/^the client certificate of "ada" expired on .*20\d\d.*: get a new one$/),
      });
      expect(await asAda(authority, new Date('2900-01-01'))).toMatchObject({
        code: 'UNAUTHENTICATED',
        message: expect.stringContaining('is not valid before'),
      });
      const { createAuthority } = await import('../../apiserver/pki/certificates.ts');
      expect(await asAda(await createAuthority('another', new Date()), new Date())).toMatchObject({
        code: 'UNAUTHENTICATED',
        message: expect.stringContaining("present one that this cluster's authority signed"),
      });
    });

    it('fails for an unknown token with that reason', async () => {
      expect(await failure(connectAs({ token: 'wrong' }).pods.list())).toMatchObject({
        code: 'UNAUTHENTICATED',
        message: 'the bearer token is not known to this server: use the token of a user in its token file',
      });
    });
  });

  describe('a server that cannot be reached', () => {
    it('is UNAVAILABLE, with its address and the cause, for calls and for streams', async () => {
      const address = await freeAddress();
      const client = connectAs({ ...server.admin, address });
      const message = `cannot reach the API server at ${address}: connection refused; is it running? "berth up" starts it`;
      const expected = { code: 'UNAVAILABLE', reason: 'ServiceUnavailable', message };
      expect(await failure(client.pods.list())).toMatchObject(expected);
      const { signal } = new AbortController();
      expect(await failure(read(client.pods.watch({}, { signal })))).toMatchObject(expected);
    });

    it('is UNAVAILABLE when something else answers at its address', async () => {
      const other = createServer((socket) => {
        socket.on('error', () => {}).resume();
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      });
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
      const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
      const error = await failure(connectAs({ ...server.admin, address }).pods.list());
      expect(error).toMatchObject({
        code: 'UNAVAILABLE',
        message: `cannot reach the API server at ${address}: something else answers there`,
      });
      await new Promise((resolve) => other.close(resolve));
    });
  });

  describe('details of an error', () => {
    it('say how long to wait before the next attempt', async () => {
      const { metadata } = await server.client.configMaps.list();
      const future = `${Number(metadata.resourceVersion) + 1_000}`;
      expect(await failure(server.client.configMaps.list({ resourceVersion: future }))).toMatchObject({
        code: 'DEADLINE_EXCEEDED',
        reason: 'Timeout',
        message: expect.stringContaining(`Too large resource version: ${future}`),
        retryAfterMs: 1_000,
      });
    });

    it('name every violation: its path, what is wrong in words, and its reason', async () => {
      const pod = { metadata: { namespace: 'default', name: 'Bad_Name' }, spec: { containers: [{ name: 'main' }] } };
      const error = await failure(server.client.pods.create(pod));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'Invalid', subject: { kind: 'Pod', name: 'Bad_Name' } });
      const byField = new Map(error.violations.map((violation) => [violation.field, violation]));
      expect([...byField.keys()].sort()).toEqual(['metadata.name', 'spec.containers[0].image']);
      expect(byField.get('spec.containers[0].image')).toMatchObject({ reason: 'FieldValueRequired' });
      for (const { description } of error.violations) expect(description).not.toBe('');
    });
  });
});
