import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { localSocketPath } from '../../api/meta/local-socket.ts';
import { findLocalSocket } from './local-socket.ts';

const address = '127.0.0.1:7443';
const context = { address, ca: 'the authority', cert: 'the certificate' };
const server = createServer();
let dataDir: string;
let path: string;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'berth-socket-'));
  mkdirSync(join(dataDir, 'run'), { mode: 0o700 });
  mkdirSync(join(dataDir, 'pki'));
  for (const [name, text] of [
    ['ca.crt', context.ca] as const,
    ['admin.crt', context.cert] as const,
    ['admin.token', 'secret\n'] as const,
  ])
    writeFileSync(join(dataDir, 'pki', name), text);
  path = localSocketPath(dataDir, address)!;
  await new Promise<void>((listening) => server.listen(path, listening));
});
afterEach(async () => {
  await new Promise((closed) => server.close(closed));
  rmSync(dataDir, { recursive: true, force: true });
});

it("finds the server's own socket, with the token of the same user", () => {
  expect(findLocalSocket(path, context)).toEqual({ path, token: 'secret' });
});

it.each<[string, Partial<Parameters<typeof findLocalSocket>[1]>]>([
  ['another address', { address: '127.0.0.1:7444' }],
  ["another cluster's authority", { ca: 'another' }],
  ['another user', { cert: 'another' }],
  ['no certificate', { cert: undefined }],
  ['a token', { token: 'of another user' }],
])('does not use a socket for a context that has %s', (_, changed) => {
  expect(findLocalSocket(path, { ...context, ...changed })).toBeUndefined();
});

it.each<[string, () => void]>([
  ['in a folder that others may write to', () => chmodSync(dirname(path), 0o730)],
  ['that is not there', () => rmSync(path)],
  ['of a server whose token is gone', () => rmSync(join(dataDir, 'pki', 'admin.token'))],
  [
    'that is a link',
    () => {
      renameSync(path, join(dataDir, 'real'));
      symlinkSync(join(dataDir, 'real'), path);
    },
  ],
  [
    'that is a file',
    () => {
      rmSync(path);
      writeFileSync(path, '');
    },
  ],
])('does not use a socket %s', (_, change) => {
  change();
  expect(findLocalSocket(path, context)).toBeUndefined();
});

it('does not use a socket of another user', () => {
  expect(findLocalSocket(path, context, process.getuid!() + 1)).toBeUndefined();
});

it('does not use a socket that no context names', () => {
  expect(findLocalSocket(undefined, context)).toBeUndefined();
});
