import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serviceType } from '../api/codec/descriptors.ts';
import { kinds } from '../api/kinds/index.ts';
import { AccessTable } from '../apiserver/calls/access-table.ts';
import { clientPropertyOf } from '../client/services/kind-clients.ts';
import { toy } from '../test/conformance/toy-kind.ts';
// @ts-expect-error a plain script without types
import { kindProtos } from './kind-protos.js';

// What a kind costs: its proto, its folder in api/kinds, and one line in the index with its import.
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const rooms = ['api', 'client', 'apiserver', 'scheduler', 'agent', 'controllers', 'cli', 'host'];
const sources = rooms
  .flatMap((room) => readdirSync(join(root, room), { recursive: true, encoding: 'utf8' }).map((name) => `${room}/${name}`))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('api/generated/'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));
const folders = readdirSync(join(root, 'api/kinds')).filter((name) => existsSync(join(root, 'api/kinds', name, 'kind.ts')));
const index = readFileSync(join(root, 'api/kinds/index.ts'), 'utf8');

/** The files outside of a kind's folder that import from it. */
function importersOf(folder: string): string[] {
  const own = `api/kinds/${folder}/`;
  const imported = new RegExp(`from '(?:\\.\\./)*(?:api/kinds/|kinds/|\\./|\\.\\./)${folder}/`);
  return sources.filter(({ name, text }) => !name.startsWith(own) && imported.test(text)).map(({ name }) => name);
}

describe('the index of kinds', () => {
  it('lists as many kinds as there are folders', () => {
    expect(kinds).toHaveLength(folders.length);
  });

  it.each(folders)('has one import and one line for %s', (folder) => {
    const [, name, ...more] = [
      ...index.matchAll(new RegExp(`^import \\{ (\\w+) \\} from '\\./${folder}/kind\\.ts';$`, 'gm')),
    ].flat();
    expect(more).toEqual([]);
    expect([...index.matchAll(new RegExp(`^  ${name},$`, 'gm'))]).toHaveLength(1);
  });
});

it.each(['config-map', 'csi-driver', 'csi-node', 'csi-storage-capacity', 'lease', 'limit-range', 'volume-attachment'])(
  'the kind %s, which needs no code besides the verbs, is imported by the index alone',
  (folder) => {
    expect(importersOf(folder)).toEqual(['api/kinds/index.ts']);
  },
);

describe('the toy kind', () => {
  const folder = 'example/toys/v1';
  const standard = serviceType('berth.core.v1.PersistentVolumes').methods;
  let protos: string;
  beforeEach(() => {
    protos = mkdtempSync(join(tmpdir(), 'berth-toy-'));
    mkdirSync(join(protos, folder), { recursive: true });
    const fields = 'berth.meta.v1.ObjectMeta metadata = 1; ToySpec spec = 2; ToyStatus status = 3;';
    writeFileSync(
      join(protos, folder, 'toy.proto'),
      `syntax = "proto3";
package example.toys.v1;
import "berth/meta/v1/object_meta.proto";

message Toy { ${fields} }
message ToySpec { string color = 1; int32 wheels = 2; }
message ToyStatus { repeated berth.meta.v1.Condition conditions = 1; }
`,
    );
  });
  afterEach(() => rmSync(protos, { recursive: true, force: true }));

  it('gets its lists, writes, watches and service from the one proto that declares its message', () => {
    const generated: Map<string, string> = kindProtos(protos, [toy]);
    expect([...generated.keys()]).toEqual(['example/toys/v1/toy_kind.proto']);
    const parsed = new protobuf.Root();
    for (const text of [readFileSync(join(protos, folder, 'toy.proto'), 'utf8'), ...generated.values()])
      protobuf.parse(text, parsed, { keepCase: true });
    const { methods } = parsed.lookupService(toy.service);
    expect(Object.keys(methods).toSorted()).toEqual(Object.keys(standard).toSorted());
    const access = new AccessTable();
    access.add(toy as never);
    const definition = Object.fromEntries(Object.keys(methods).map((name) => [name, { path: `/${toy.service}/${name}` }]));
    expect(() => access.require(definition as never)).not.toThrow();
    for (const message of ['ToyList', 'ToyWriteRequest', 'ToyWatchEvent', 'ToyWatchResponse'])
      expect(parsed.lookupType(`example.toys.v1.${message}`).fieldsArray.length).toBeGreaterThan(0);
  });

  it('gets a client under its plural', () => {
    expect(clientPropertyOf(toy.kind)).toBe('toys');
  });
});
