import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseEnvFile, readData } from './data.ts';
import { configMapObject, genericSecret, registrySecret, tlsSecret } from './objects.ts';
import { podObject, type RunFlags } from './pod.ts';

let folder: string;
const path = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-generators-'));
  mkdirSync(path('conf/inner'), { recursive: true });
  writeFileSync(path('conf/a.txt'), 'text\n');
  writeFileSync(path('conf/b.bin'), Buffer.from([0xff, 0xfe, 0]));
  writeFileSync(path('vars'), '# comment\n\nA=1\r\n  B=x=y\nBERTH_TEST_UNSET\n');
  writeFileSync(path('tls.crt'), '-----BEGIN CERTIFICATE-----\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const data = (flags: Parameters<typeof readData>[0]): Record<string, string> =>
  Object.fromEntries([...readData(flags)].map(([key, bytes]) => [key, bytes.toString('latin1')]));

it('takes entries from values, files, folders and files of variables', () => {
  expect(data({ fromLiteral: ['a=b=c', 'empty=', `q='x y'`] })).toEqual({ a: 'b=c', empty: '', q: 'x y' });
  expect(data({ fromFile: [path('conf/a.txt'), `k=${path('conf/a.txt')}`] })).toEqual({ 'a.txt': 'text\n', k: 'text\n' });
  expect(Object.keys(data({ fromFile: [path('conf')] }))).toEqual(['a.txt', 'b.bin']);
  expect(data({ fromEnvFile: [path('vars')] })).toEqual({ A: '1', B: 'x=y' });
  expect(parseEnvFile('HOME_OF_X', 'f', { HOME_OF_X: 'here' })).toEqual([['HOME_OF_X', 'here']]);
});

it.each([
  ['an entry without a key', { fromLiteral: ['=x'] }, '--from-literal takes KEY=VALUE, not "=x"'],
  ['a key that comes twice', { fromLiteral: ['a=1', 'a=2'] }, 'the key "a" is given twice'],
  ['a file that is not there', { fromFile: ['/none/such'] }, 'cannot read /none/such: no such file or folder'],
  ['half a file', { fromFile: ['k='] }, '--from-file takes FILE, KEY=FILE or a folder'],
])('refuses %s', (_title, flags, message) => expect(() => readData(flags)).toThrow(message));

it('names the line of a bad file of variables', () => {
  expect(() => parseEnvFile('A=1\n1 2\n', 'vars')).toThrow('vars:2: expected KEY=VALUE, found "1 2"');
});

it('makes ConfigMaps of text and bytes, and Secrets of base64', () => {
  expect(configMapObject('c', { fromFile: [path('conf')] })).toMatchObject({
    kind: 'ConfigMap',
    metadata: { name: 'c' },
    data: { 'a.txt': 'text\n' },
    binaryData: { 'b.bin': '//4A' },
  });
  expect(genericSecret('s', { fromLiteral: ['a=b'] })).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    type: 'Opaque',
    data: { a: 'Yg==' },
  });
  expect(() => tlsSecret('t', { cert: path('tls.crt'), key: path('vars') })).toThrow(/vars is not in PEM form/);
  const flags = { dockerServer: 'registry.example', dockerUsername: 'u', dockerPassword: 'p' };
  const { data: registry, type } = registrySecret('r', flags) as { data: Record<string, string>; type: string };
  expect(type).toBe('kubernetes.io/dockerconfigjson');
  expect(JSON.parse(Buffer.from(registry['.dockerconfigjson'] ?? '', 'base64').toString())).toEqual({
    auths: { 'registry.example': { username: 'u', password: 'p', auth: 'dTpw' } },
  });
  expect(() => registrySecret('r', { dockerServer: 'x' })).toThrow('give --docker-username and --docker-password');
});

const run = (words: string[], flags: Partial<RunFlags> = {}) =>
  podObject('web', words, { image: 'i', restart: 'Always', ...flags });

it('makes a pod of an image, with words as arguments or as the command', () => {
  expect(run([])).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { run: 'web' } },
    spec: { containers: [{ name: 'web', image: 'i' }], restartPolicy: 'Always' },
  });
  const flags = { port: '80', env: ['A=b=c'], labels: ['a=b,c=d'], command: true, restart: 'Never' as const };
  expect(run(['sleep', '1'], flags)).toMatchObject({
    metadata: { labels: { a: 'b', c: 'd' } },
    spec: {
      containers: [{ command: ['sleep', '1'], env: [{ name: 'A', value: 'b=c' }], ports: [{ containerPort: 80 }] }],
      restartPolicy: 'Never',
    },
  });
  expect(run(['x'])).toMatchObject({ spec: { containers: [{ args: ['x'] }] } });
  expect(() => run([], { port: '0' })).toThrow('--port takes a number from 1 to 65535');
  expect(() => run([], { command: true })).toThrow('--command needs the command');
});
