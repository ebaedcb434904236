import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import type { KindStore } from '../kind-store.ts';
import { serverContext } from '../server-context.ts';
import type { WriteContext } from '../write-context.ts';
import { type Config, readConfig } from './apply-config.ts';

const at = { namespace: 'default', name: 'web' };
function readAll(text: string, name = 'Pod', fieldValidation?: WriteContext['fieldValidation']): Promise<Config> {
  const kind = kindNamed(name as 'Pod') as Kind;
  const store = { kind, subject: (object: object) => ({ kind: name, ...object }) } as unknown as KindStore;
  return readConfig({ kind, store, at }, Buffer.from(text), { ...serverContext, fieldValidation });
}
const read = async (text: string, name?: string): Promise<JsonObject> => (await readAll(text, name)).document;
const head = 'apiVersion: v1\nkind: Pod\n';

describe('the configuration of an apply', () => {
  it('is read from YAML and JSON alike, with the name of the request', async () => {
    const yaml = await read(`${head}spec:\n  hostNetwork: no\n  containers:\n  - name: a\n`);
    expect(yaml).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: at,
      spec: { hostNetwork: false, containers: [{ name: 'a' }] },
    });
    expect(await read(JSON.stringify(yaml))).toEqual(yaml);
  });

  it('has its values as they are stored, and what says a default or nothing as it was sent', async () => {
    const event = { apiVersion: 'v1', kind: 'Event', involvedObject: {}, count: 0, related: null, action: '' };
    const sent = { ...event, firstTimestamp: '2026-01-01T01:00:00+01:00' };
    const stored = await read(JSON.stringify(sent), 'Event');
    expect(stored).toEqual({ ...event, metadata: at, firstTimestamp: '2026-01-01T00:00:00Z' });
  });

  it.each(['Strict', 'Warn', 'Ignore'] as const)('may be YAML with objects in braces, validated as %s', async (validation) => {
    const text = `${head}metadata: { name: web }\nspec: { containers: [{ name: a, image: "b: c" }] }\n`;
    const { document, warnings } = await readAll(text, 'Pod', validation);
    expect(document.spec).toEqual({ containers: [{ name: 'a', image: 'b: c' }] });
    expect(warnings).toEqual([]);
  });

  it('is YAML with a field twice for a client that asks for warnings, or for none', async () => {
    const text = `${head}spec: { hostNetwork: true, hostNetwork: false, containers: [] }\n`;
    const { document, warnings } = await readAll(text, 'Pod', 'Warn');
    expect(document.spec).toEqual({ hostNetwork: false, containers: [] });
    expect(warnings).toEqual(['duplicate field "spec.hostNetwork"']);
    expect((await readAll(text, 'Pod', 'Ignore')).warnings).toEqual([]);
    await expect(readAll(text, 'Pod', 'Strict')).rejects.toThrow('spec.hostNetwork');
  });

  it.each([
    ['nothing', '', 'is empty'],
    ['a list', '[]', 'expected an object|is an object'],
    ['two documents', `${head}---\n${head}`, '2 documents'],
    ['no kind', 'apiVersion: v1\n', 'kind: is required'],
    ['broken YAML', `${head}spec: {`, 'line'],
    ['a field twice', `${head}kind: Pod\n`, 'twice'],
    ['an unknown field', `${head}spec:\n  containerz: []\n`, 'containerz'],
    ['another kind', 'apiVersion: v1\nkind: Secret\n', 'must be "Pod"'],
    ['entries of managers', `${head}metadata:\n  managedFields:\n  - manager: x\n`, 'metadata.managedFields'],
    ['YAML without end', `${head}# ${'x'.repeat(300_000)}\n`, 'send it as JSON'],
  ])('is refused with %s', async (_, text, message) => {
    await expect(read(text)).rejects.toThrow(new RegExp(message));
  });
});
