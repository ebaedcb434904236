import { describe, expect, it } from 'vitest';
import { conflict } from '../../api/errors/index.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import type { ObjectsClient } from '../../client/index.ts';
import { composeText, readEdited, splitText } from './edited-text.ts';
import { editorCommand } from './editor.ts';
import { saveEdit } from './save-edit.ts';

const kind = kindNamed('ConfigMap') as Kind;
const key = { name: 'c', namespace: 'default' };
const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: default\ndata:\n  a: b\n';

describe('the text in the editor', () => {
  it('puts instructions and reasons above the object, with the lines of the new file', () => {
    const first = composeText(text);
    const { body, linesBefore } = splitText(first);
    expect(body).toBe(text);
    const again = composeText(body, [{ line: linesBefore + 7, text: 'data[a]: no' }], linesBefore);
    const lines = again.split('\n');
    expect(again).toContain('# The object was not saved:\n# * line 13: data[a]: no\n#\n');
    expect(lines[13 - 1]).toBe('  a: b');
    expect(splitText(again).body).toBe(text);
  });

  it.each([
    [
      'a type that is wrong',
      text.replace('a: b', 'a: 5'),
      [[7, 'data[a]: wrong type: expected a string, found number 5; put it in quotes']],
    ],
    ['another name', text.replace('name: c', 'name: d'), [[4, 'metadata.name: must stay c']]],
    ['another namespace', text.replace('default', 'other'), [[5, 'metadata.namespace: must stay default']]],
    ['another kind', text.replace('ConfigMap', 'Secret').replace('a: b', 'a: YQ=='), [[2, 'kind: must stay ConfigMap']]],
    ['a second object', `${text}---\n${text}`, [[9, 'there is more than one object']]],
    ['a tab', text.replace('  a', '\ta'), [[7, 'a tab indents this line; YAML takes spaces only']]],
  ])('finds %s', (_title, edited, problems) => {
    expect(readEdited(edited, kind, key)).toEqual({ problems: problems.map(([line, why]) => ({ line, text: why })) });
  });
});

it('takes the editor that the person chose, in the order of the variables', () => {
  expect(editorCommand({})).toBe('vi');
  expect(editorCommand({ EDITOR: 'nano', VISUAL: '' })).toBe('nano');
  expect(editorCommand({ EDITOR: 'nano', VISUAL: 'emacs', KUBE_EDITOR: 'code --wait' })).toBe('code --wait');
  expect(editorCommand({ KUBE_EDITOR: 'x', BERTH_EDITOR: 'y' })).toBe('y');
});

describe('saving an edit', () => {
  const object = (version: string, data: JsonObject): JsonObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', namespace: 'default', uid: 'u1', resourceVersion: version },
    data,
  });
  /** A server whose object is `live`: it refuses patches of other versions. */
  const server = (live: JsonObject, patches: Json[] = []) =>
    ({
      async get() {
        return live;
      },
      async patch(_kind: string, _target: unknown, patch: JsonObject) {
        patches.push(patch);
        if ((patch.metadata as JsonObject).resourceVersion !== (live.metadata as JsonObject).resourceVersion)
          throw conflict({}, 'old');
        return live;
      },
    }) as unknown as ObjectsClient;

  it('sends only what was changed, for the version that was shown', async () => {
    const patches: Json[] = [];
    const before = object('1', { a: '1', b: '2' });
    const after = object('1', { a: '9', b: '2' });
    await saveEdit(server(before, patches), { kind, key }, { before, after }, {});
    expect(patches).toEqual([{ data: { a: '9' }, metadata: { uid: 'u1', resourceVersion: '1' } }]);
  });

  it('sends nothing when nothing was changed but the status', async () => {
    const before = object('1', { a: '1' });
    const after = { ...before, status: { x: 1 } };
    expect(await saveEdit(server(before), { kind, key }, { before, after }, {})).toBeUndefined();
  });

  it('puts the change on top of that of another client, unless both changed the same field', async () => {
    const before = object('1', { a: '1', b: '2' });
    const after = object('1', { a: '9', b: '2' });
    const patches: Json[] = [];
    await saveEdit(server(object('2', { a: '1', b: '3' }), patches), { kind, key }, { before, after }, {});
    expect(patches.at(-1)).toEqual({ data: { a: '9' }, metadata: { uid: 'u1', resourceVersion: '2' } });
    const both = saveEdit(server(object('2', { a: '5', b: '2' })), { kind, key }, { before, after }, {});
    await expect(both).rejects.toThrow('another client changed the same fields meanwhile');
  });
});
