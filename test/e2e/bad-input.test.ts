import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInstallation, type Installation } from './installation.ts';

// What a user may get wrong, sentence by sentence: each answer names the place and the reason,
// and nothing half done stays behind.
let berth: Installation;
let folder: string;

beforeAll(async () => {
  berth = await createInstallation('bad-input');
  folder = mkdtempSync(join(tmpdir(), 'berth-bad-input-'));
  await berth.up();
});
afterAll(async () => {
  await berth.purge();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: b\n`;
const pod = (name: string, ...lines: string[]): string =>
  `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n  - name: c\n    image: berth/busybox\n    command: [sleep, "600"]\n${lines.map((line) => `  ${line}\n`).join('')}`;

const exists = async (what: string): Promise<boolean> => (await berth.ok('get', what, '--ignore-not-found', '-o', 'name')) !== '';

async function refused(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await berth.berth(args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: /);
  expect(stderr).not.toMatch(/^ +at /m);
  return stderr;
}

describe('a wrong manifest', () => {
  it('is named with file, line, path and reason, and nothing of the object is stored', async () => {
    const path = file('typo.yaml', pod('typo').replace('image:', 'imagee:'));
    for (const verb of ['apply', 'create']) {
      expect(await refused(verb, '-f', path)).toBe(
        `error: ${path}:8: spec.containers[0].imagee: unknown field; did you mean "image"?\n`,
      );
    }
    expect(await exists('pod/typo')).toBe(false);
  });

  it('is named in the same way when only the server can judge it', async () => {
    const path = file('rules.yaml', pod('rules', 'restartPolicy: Sometimes', 'volumes:', '- name: v', '  hostPath: {}'));
    expect(await refused('apply', '-f', path)).toBe(
      `error: ${path}: pod "rules" has 2 problems:\n` +
        `  ${path}:10: spec.restartPolicy: unsupported value "Sometimes": must be one of "Always", "OnFailure", "Never"\n` +
        `  ${path}:13: spec.volumes[0].hostPath.path: is required\n`,
    );
    expect(await exists('pod/rules')).toBe(false);
  });

  it('leaves the stored object as it was when a change of it is wrong', async () => {
    const path = file('change.yaml', configMap('change'));
    await berth.ok('apply', '-f', path);
    const before = await berth.ok('get', 'configmap/change', '-o', 'yaml');
    file('change.yaml', configMap('change').replace('  a: b', '  a/b: c'));
    expect(await refused('apply', '-f', path)).toContain(`${path}:6: data[a/b]: `);
    expect(await berth.ok('get', 'configmap/change', '-o', 'yaml')).toBe(before);
  });

  it('may hide in a list, or in JSON', async () => {
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, dta: {} }],
    };
    const path = file('list.json', JSON.stringify(list, null, 2));
    expect(await refused('apply', '-f', path)).toBe(`error: ${path}:11: items[0].dta: unknown field; did you mean "data"?\n`);
  });

  it.each([
    ['a field that stands twice', 'kind: ConfigMap\napiVersion: v1\nkind: ConfigMap\n', '3: kind: the field stands here twice'],
    ['a tab', 'kind: ConfigMap\nmetadata:\n\tname: a\n', '3: a tab indents this line; YAML takes spaces only'],
    [
      'an indentation that fits nothing',
      'metadata:\n    name: a\n  labels: {}\n',
      '3: the indentation does not fit the lines above',
    ],
    ['no kind', 'apiVersion: v1\nmetadata: {name: a}\n', '1: kind: is required: it says what the object is, e.g. "kind: Pod"'],
    ['no apiVersion', 'kind: ConfigMap\nmetadata: {name: a}\n', '1: apiVersion: is required: a ConfigMap has "v1"'],
    ['no name', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n', '3: metadata.name: is required'],
    ['an unknown kind', 'apiVersion: v1\nkind: ConfigMapp\n', '2: kind: unknown kind "ConfigMapp"; did you mean "ConfigMap"?'],
    [
      'a wrong type',
      `${configMap('t')}immutable: maybe\n`,
      '7: immutable: wrong type: expected true or false, found string "maybe"',
    ],
    ['no YAML at all', 'once upon a time\n', '1: expected an object, found string "once upon a time"'],
  ])('says where %s is', async (_title, text, problem) => {
    const path = file('wrong.yaml', text);
    expect(await refused('apply', '-f', path)).toBe(`error: ${path}:${problem}\n`);
  });

  it('counts lines as an editor does, also with Windows line ends and a byte order mark', async () => {
    const text = `\ufeff${configMap('one')}---\n${configMap('two').replace('\ndata', '\ndta')}`.replaceAll('\n', '\r\n');
    const path = file('windows.yaml', text);
    const { code, stdout, stderr } = await berth.berth(['apply', '-f', path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'configmap/one created\n' });
    expect(stderr).toBe(`error: ${path}:12: dta: unknown field; did you mean "data"?\n`);
  });

  it('may be no text, far too large, empty, or not there', async () => {
    expect(await refused('apply', '-f', file('garbage.yaml', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2])))).toMatch(
      /garbage.yaml:1: is no text; a manifest is YAML or JSON in UTF-8\n$/,
    );
    for (const [bytes, verb, reason] of [
      [500_000, 'apply', 'is too large for apply, which notes the manifest in an annotation of at most 256 KiB'],
      [2_097_152, 'create', 'large.yaml:5: data: too long: must have at most 1048576 bytes'],
      [5_000_000, 'create', 'objects are at most 1.5 MiB'],
    ] as const) {
      const large = file('large.yaml', `${configMap('large')}  k: ${'x'.repeat(bytes)}\n`);
      expect(await refused(verb, '-f', large)).toContain(reason);
      expect(await exists('configmap/large')).toBe(false);
    }
    expect(await refused('apply', '-f', file('empty.yaml', '---\n'))).toMatch(/^error: no objects found in .*empty.yaml\n$/);
    expect(await refused('apply', '-f', join(folder, 'missing.yaml'))).toMatch(/missing.yaml: no such file or folder\n$/);
    mkdirSync(join(folder, 'bare'), { recursive: true });
    expect(await refused('apply', '-f', join(folder, 'bare'))).toMatch(/bare holds no .yaml, .yml or .json file\n$/);
  });
});

describe('a bad document', () => {
  it('does not hide the others of its file, whatever is wrong with it', async () => {
    const documents = [
      configMap('first'),
      'kind: Pod\n\tbad: tab\n',
      configMap('second'),
      'kind: Nothing\n',
      configMap('Third_'),
      configMap('last'),
    ];
    const path = file('mixed.yaml', documents.join('---\n'));
    const { code, stdout, stderr } = await berth.berth(['apply', '-f', path]);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: 'configmap/first created\nconfigmap/second created\nconfigmap/last created\n',
    });
    expect(stderr.trimEnd().split('\n')).toEqual([
      `error: ${path}:9: a tab indents this line; YAML takes spaces only`,
      expect.stringMatching(/^error: .*:18: kind: unknown kind "Nothing"/),
      expect.stringMatching(/^error: .*:23: metadata.name: invalid value "Third_"/),
    ]);
  });

  it('does not hide the other files of a folder', async () => {
    file('both/a.yaml', 'kind: [\n');
    file('both/b.yaml', configMap('in-folder'));
    const { code, stdout } = await berth.berth(['create', '-f', join(folder, 'both')]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'configmap/in-folder created\n' });
  });

  it('does not hide the others from get and delete', async () => {
    const path = file('some.yaml', [configMap('some'), 'kind: [\n', configMap('more')].join('---\n'));
    expect((await berth.berth(['apply', '-f', path])).code).toBe(1);
    for (const [verb, stdout] of [
      [['get', '-o', 'name'], 'configmap/some\nconfigmap/more\n'],
      [['delete'], 'configmap "some" deleted\nconfigmap "more" deleted\n'],
    ] as const) {
      const outcome = await berth.berth([...verb, '-f', path]);
      expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code: 1, stdout });
      expect(outcome.stderr).toContain(`error: ${path}:9: `);
    }
  });

  it('is deleted all the same when its kind and name can be read', async () => {
    await berth.ok('apply', '-f', file('go.yaml', configMap('go')));
    const path = file('go.yaml', configMap('go').replace('\ndata', '\ndta'));
    expect(await berth.ok('delete', '-f', path)).toBe('configmap "go" deleted\n');
  });
});

describe('a field that Berth does not act on', () => {
  it('is warned about by name and place, and the object is stored', async () => {
    const path = file(
      'warned.yaml',
      `${configMap('quiet')}---\n${pod('warned', 'securityContext:', '  seLinuxChangePolicy: MountOption')}`,
    );
    const { code, stdout, stderr } = await berth.berth(['apply', '-f', path]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'configmap/quiet created\npod/warned created\n' });
    expect(stderr).toMatch(new RegExp(`^Warning: ${path}:18: spec.securityContext.seLinuxChangePolicy is not acted on: .+\n$`));
    await berth.ok('delete', 'pod/warned', '--now');
  });
});

describe('a slip on the command line', () => {
  it.each([
    ['a command', ['aply'], "error: unknown command 'aply'; did you mean apply?\n"],
    ['a flag', ['get', 'pods', '--watc'], "error: unknown option '--watc'; did you mean --watch?\n"],
    ['a flag like none', ['get', 'pods', '--xyzzy'], "error: unknown option '--xyzzy'; --help says how to use it\n"],
    ['a type', ['get', 'podz'], 'error: the server has no resource type "podz"; did you mean "pods"?\n'],
    ['a format', ['get', 'pods', '-o', 'jsn'], 'error: -o does not know "jsn"; did you mean "json"?\n'],
    ['what to create', ['create', 'configmp', 'x'], 'did you mean "configmap"?\n'],
    [
      'a path',
      ['get', 'pods', '-o', 'jsonpath={.items[0'],
      'error: cannot read the path "{.items[0" at its end: "]" is missing\n',
    ],
    ['a selector', ['get', 'pods', '-l', 'a=b=c'], 'a=b=c'],
    ['a span of time', ['wait', 'pod/x', '--for=delete', '--timeout=soon'], 'error: "soon" is not a span of time'],
    ['a rehearsal', ['create', 'namespace', 'x', '--dry-run=servr'], 'did you mean "server"?\n'],
    ['a name that is not there', ['delete', 'pod', 'nothing'], 'error: pod "nothing" in namespace "default" not found\n'],
  ])('in %s is answered plainly', async (_title, args, sentence) => {
    expect(await refused(...args)).toContain(sentence);
  });
});
