import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { linkSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeLog } from '../../api/generated/types.ts';
import type { TunnelStream } from '../../client/client.ts';
import { serveNodeLogs } from './serve-node-logs.ts';

let home: string;
let folder: string;
let server: Server;
const large = 'a line of a log\n'.repeat(10_000);

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'berth-node-logs-'));
  folder = join(home, 'log');
  await mkdir(join(folder, 'sub'), { recursive: true });
  await mkdir(join(home, 'logs-of-others'));
  await writeFile(join(home, 'logs-of-others', 'secret'), 'secret');
  await writeFile(join(folder, 'syslog'), large);
  await writeFile(join(folder, 'empty'), '');
  await writeFile(join(folder, 'sub', 'b.log'), 'b');
  await symlink('../syslog', join(folder, 'sub', 'inside'));
  await symlink('../logs-of-others/secret', join(folder, 'outside'));
  await symlink('../logs-of-others', join(folder, 'outside-folder'));
  await symlink('loop', join(folder, 'loop'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  // As of a device without its driver, opening it fails.
  server = createServer().listen(join(folder, 'socket'));
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await rm(home, { recursive: true, force: true });
});

async function read(path: string, isHead = false) {
  const pieces: NodeLog[] = [];
  const write = async ({ nodeLog }: { nodeLog: NodeLog }) => void pieces.push(nodeLog);
  await serveNodeLogs(folder, { path, isHead }, { write } as unknown as TunnelStream);
  const data = Buffer.concat(pieces.map((piece) => Buffer.from(piece.data ?? '')));
  return {
    pieces,
    text: data.toString(),
    names: pieces.flatMap(({ names = [] }) => names),
    isFolder: pieces[0]?.isFolder ?? false,
  };
}

describe('a file of the logs', () => {
  it.each([
    ['syslog', large],
    ['empty', ''],
    ['sub//./b.log', 'b'],
    ['sub/inside', large],
  ])('%s is sent whole, in pieces', async (path, expected) => {
    const { pieces, text } = await read(path);
    expect(text).toBe(expected);
    expect(pieces).toHaveLength(Math.max(1, Math.ceil(expected.length / 65_536)));
  });

  it('is named alone where only that was asked, or it was taken for a folder', async () => {
    expect((await read('syslog', true)).pieces).toEqual([{ isFolder: false }]);
    expect((await read('syslog/')).pieces).toEqual([{ isFolder: false }]);
  });

  it.each([
    ['outside', 'PERMISSION_DENIED'],
    ['outside-folder/secret', 'PERMISSION_DENIED'],
    ['outside-folder/', 'PERMISSION_DENIED'],
    ['../logs-of-others/secret', 'INVALID_ARGUMENT'],
    ['sub/../../logs-of-others/secret', 'INVALID_ARGUMENT'],
    ['a\0b', 'INVALID_ARGUMENT'],
    ['pipe', 'INVALID_ARGUMENT'],
    ['socket', 'INVALID_ARGUMENT'],
    ['none', 'NOT_FOUND'],
    ['syslog/none', 'NOT_FOUND'],
    ['loop', 'NOT_FOUND'],
    ['x'.repeat(300), 'NOT_FOUND'],
  ])('%s is refused', async (path, code) => {
    await expect(read(path)).rejects.toMatchObject({ code });
  });
});

describe('a folder of the logs', () => {
  it('has its names in order, folders with a slash behind', async () => {
    const { names, isFolder } = await read('');
    expect(isFolder).toBe(true);
    expect(names).toEqual(['empty', 'loop', 'outside', 'outside-folder', 'pipe', 'socket', 'sub/', 'syslog']);
    expect((await read('sub/')).names).toEqual(['b.log', 'inside']);
  });

  it('is named alone where it was taken for a file', async () => {
    expect((await read('sub')).pieces).toEqual([{ isFolder: true }]);
  });

  it('is missing where the node has no logs', async () => {
    const stream = {} as TunnelStream;
    await expect(serveNodeLogs(join(home, 'none'), {}, stream)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of more than 10,000 names is refused', async () => {
    await mkdir(join(folder, 'many'));
    // Names of one file: making files takes ten times as long.
    for (let i = 0; i <= 10_000; i++) linkSync(join(folder, 'empty'), join(folder, 'many', `${i}`));
    await expect(read('many/')).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });
});
