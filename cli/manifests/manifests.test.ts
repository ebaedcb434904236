import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { invalid } from '../../api/errors/index.ts';
import { required } from '../../api/errors/violations.ts';
import { describeManifestFailure, describeManifestWarning } from './manifest-report.ts';
import { readManifests, textOf } from './manifests.ts';

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;
let folder: string;
const path = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-manifests-'));
  for (const sub of ['many/inner', 'outer/inner', 'none']) mkdirSync(path(sub), { recursive: true });
  writeFileSync(path('many/b.yaml'), configMap('b'));
  writeFileSync(path('many/a.json'), JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }));
  writeFileSync(path('many/notes.txt'), 'no manifest');
  writeFileSync(path('many/inner/c.yml'), configMap('c'));
  writeFileSync(path('outer/inner/d.yml'), configMap('d'));
  writeFileSync(path('empty.yaml'), '---\n# nothing\n');
  writeFileSync(path('garbage.yaml'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 3]));
  writeFileSync(path('windows.yaml'), Buffer.from(`\ufeff${configMap('w')}`.replaceAll('\n', '\r\n'), 'utf16le'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = async (filename: string[], recursive = false): Promise<string[]> =>
  (await readManifests({ filename: filename.map(path), recursive })).map((each) =>
    'problems' in each ? describeManifestFailure(each) : (each.object.metadata?.name ?? ''),
  );

it('reads files and folders in order, and folders in folders only with -R', async () => {
  expect(await read(['many'])).toEqual(['a', 'b']);
  expect(await read(['many'], true)).toEqual(['a', 'b', 'c']);
  expect(await read(['many/inner/c.yml', 'many/b.yaml', 'empty.yaml'])).toEqual(['c', 'b']);
  expect(await read([`many/inner/c.yml,${path('many/b.yaml')}`])).toEqual(['c', 'b']);
});

it('reads what Windows tools write', async () => {
  expect(await read(['windows.yaml'])).toEqual(['w']);
});

it('takes a source that is not there, or that holds nothing, for a mistake before anything is done', async () => {
  await expect(read(['many', 'missing.yaml'])).rejects.toThrow(/cannot read .*missing.yaml: no such file or folder/);
  await expect(read(['none'])).rejects.toThrow(/none holds no .yaml, .yml or .json file$/);
  await expect(read(['outer'])).rejects.toThrow(/folders in it do: add -R$/);
  await expect(read(['empty.yaml'])).rejects.toThrow(/no objects found in .*empty.yaml/);
  await expect(readManifests({ filename: ['https://example.org/a.yaml'] })).rejects.toThrow(/download it first/);
});

it('takes a file that is no text for a bad document, which does not hide the others', async () => {
  expect(await read(['garbage.yaml', 'many/b.yaml'])).toEqual([expect.stringMatching(/garbage.yaml:1: is no text/), 'b']);
});

it('tells text from other bytes', () => {
  expect(textOf(Buffer.from('ä\t\r\n\u001b'))).toBe('ä\t\r\n\u001b');
  expect(textOf(Buffer.from([0x61, 0xff, 0x62]))).toBeUndefined();
  expect(textOf(Buffer.from([0x61, 0, 0x62]))).toBeUndefined();
});

it('maps what the server refuses back to the lines of the manifest', async () => {
  const file = path('many/b.yaml');
  const [document] = await readManifests({ filename: [file] });
  if (!document) throw new Error('not read');
  const one = invalid({}, [required('data[x]', 'why')]);
  expect(describeManifestFailure(document, one)).toBe(`${file}:1: data[x]: is required: why`);
  const two = invalid({}, [required('metadata.name'), required('kind')]);
  expect(describeManifestFailure(document, two)).toBe(
    `${file}: configmap "b" has 2 problems:\n  ${file}:2: kind: is required\n  ${file}:4: metadata.name: is required`,
  );
  expect(describeManifestFailure(document, new Error('the disk is full'))).toBe(`${file}:1: the disk is full`);
  expect(describeManifestWarning(document, 'metadata.name is not acted on: so it is')).toBe(
    `${file}:4: metadata.name is not acted on: so it is`,
  );
});
