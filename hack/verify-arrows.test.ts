import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
// @ts-expect-error a plain script without types
import { checkArrows } from './arrows.js';

const repository = dirname(dirname(fileURLToPath(import.meta.url)));
let root: string;

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-arrows-'));
  for (const name of ['node_modules', 'tsconfig.json', 'package.json']) symlinkSync(join(repository, name), join(root, name));
  write('api/kinds/kind.ts', 'export type Kind = { name: string };\n');
  write('client/index.ts', "import type { Kind } from '../api/kinds/kind.ts';\nexport type Client = { kind: Kind };\n");
  write('apiserver/main.ts', 'export const run = 1;\n');
  write('apiserver/registry/store.ts', 'export const store = 1;\n');
  write('apiserver/rpc/sink.ts', 'export interface Sink {}\n');
  write('agent/runtime/docker/door.ts', "import Docker from 'dockerode';\nexport const docker = new Docker();\n");
  write('host/commands/server.ts', "export { run } from '../../apiserver/main.ts';\n");
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('the arrow lint', () => {
  it('accepts the imports that the design allows', async () => {
    const { modules, violations } = await checkArrows(root);
    expect(violations).toEqual([]);
    expect(modules).toBe(7);
  });

  it.each([
    ['api imports client', 'api/bad.ts', "import type { Client } from '../client/index.ts';\nexport type Bad = Client;\n"],
    [
      'client imports apiserver',
      'client/bad.ts',
      "import { store } from '../apiserver/registry/store.ts';\nexport const bad = store;\n",
    ],
    ['scheduler imports apiserver', 'scheduler/bad.ts', "import { run } from '../apiserver/main.ts';\nexport const bad = run;\n"],
    [
      'scheduler imports agent',
      'scheduler/bad.ts',
      "import { docker } from '../agent/runtime/docker/door.ts';\nexport const bad = docker;\n",
    ],
    ['a command that starts nothing imports a main', 'cli/commands/get.ts', "export { run } from '../../apiserver/main.ts';\n"],
    [
      'a starting command reaches behind a main',
      'host/commands/up.ts',
      "export { store } from '../../apiserver/registry/store.ts';\n",
    ],
    [
      "the agent's pods import the computing of their status",
      'agent/pod/bad.ts',
      "import { phase } from '../status/phase.ts';\nexport const bad = phase;\n",
    ],
    [
      'the agent imports the Docker library outside its room',
      'agent/bad.ts',
      "import Docker from 'dockerode';\nexport const bad = Docker;\n",
    ],
    [
      'the registry imports gRPC',
      'apiserver/registry/bad.ts',
      "import { status } from '@grpc/grpc-js';\nexport const bad = status;\n",
    ],
    [
      'a verb imports a type of gRPC',
      'apiserver/verbs/bad.ts',
      "import type { ServerWritableStream } from '@grpc/grpc-js';\nexport type Bad = ServerWritableStream<unknown, unknown>;\n",
    ],
    [
      'a verb imports HTTP/2',
      'apiserver/verbs/bad.ts',
      "import { constants } from 'node:http2';\nexport const bad = constants;\n",
    ],
    [
      'a verb imports the gRPC adapters',
      'apiserver/verbs/bad.ts',
      "import type { Sink } from '../rpc/sink.ts';\nexport type Bad = Sink;\n",
    ],
    ['api reads files', 'api/bad.ts', "import { readFileSync } from 'node:fs';\nexport const bad = readFileSync;\n"],
    ['two modules import each other', 'client/a.ts', "import { b } from './b.ts';\nexport const a = (): unknown => b;\n"],
    ['an import leads nowhere', 'client/bad.ts', "import { nothing } from './nothing.ts';\nexport const bad = nothing;\n"],
  ])('refuses when %s', async (_title, path, text) => {
    write(path, text);
    write('client/b.ts', "import { a } from './a.ts';\nexport const b = (): unknown => a;\n");
    if (path !== 'client/a.ts') rmSync(join(root, 'client/b.ts'));
    const { violations } = await checkArrows(root);
    expect(violations.some((line: string) => line.startsWith(path) || line.includes('client/b.ts'))).toBe(true);
  });
});
