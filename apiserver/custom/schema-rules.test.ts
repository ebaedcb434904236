import { expect, test } from 'vitest';
import { openMessage } from '../../api/codec/open-message.ts';
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Json } from '../../api/meta/merge-patch.ts';
import { definitionRules } from './definition-admission.ts';
import { loadSchemaEngine } from './schema-engine.ts';
import { schemaRules } from './schema-rules.ts';

const names = { apiVersion: 'a.b/v1', kind: 'Widget', message: openMessage };

test('defaults that are more than an object may have are refused with the name of the object', async () => {
  await loadSchemaEngine();
  const property: Json = { type: 'object', properties: { a: { type: 'integer', default: 1 } } };
  const rules = schemaRules({
    names,
    read: () => ({ type: 'object', properties: { list: { type: 'array', items: property } } }),
  });
  const widget = (count: number) => ({
    metadata: { name: 'w', namespace: 'n' },
    list: Array.from({ length: count }, () => ({})),
  });
  const few = widget(2);
  rules.defaults(few);
  expect(few.list).toEqual([{ a: 1 }, { a: 1 }]);
  expect(() => rules.defaults(widget(10_001))).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/widget "w" in namespace "n" is invalid: .* write more than 10000 values/),
    }),
  );
});

test('the rules of all versions of a definition count together, those that have not changed as well', async () => {
  const kind = kindNamed('CustomResourceDefinition');
  const { create, update } = definitionRules(async () => undefined);
  const level = (count: number) => ({
    type: 'object',
    properties: {},
    'x-kubernetes-validations': Array.from({ length: count }, () => ({ rule: 'true' })),
  });
  const version = (name: string, counts: readonly number[]) => {
    const properties = Object.fromEntries(counts.map((count, at) => [`p${at}`, level(count)]));
    return { name, schema: { openAPIV3Schema: { raw: Buffer.from(JSON.stringify({ type: 'object', properties })) } } };
  };
  const definition = (...versions: ReturnType<typeof version>[]): CustomResourceDefinition => ({
    metadata: { name: 'widgets.a.b' },
    spec: { versions },
  });
  const [full, one] = [version('v1', [100, 100, 100, 100, 100]), version('v2', [1])];
  const before = definition(full, version('v2', []));
  const warn = (): void => {};
  await create!(kind, before);
  const refused = (path: string) =>
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`${path}.x-kubernetes-validations: Forbidden: the definition has more than 500 rules`),
    });
  const second = refused('spec.versions[1].schema.openAPIV3Schema.properties[p0]');
  await expect(create!(kind, definition(full, one), warn)).rejects.toThrow(second);
  await expect(update!(kind, definition(full, one), before)).rejects.toThrow(second);
  await expect(update!(kind, definition(one, full), before)).rejects.toThrow(
    refused('spec.versions[0].schema.openAPIV3Schema.properties[p0]'),
  );
  await update!(kind, definition(full, one), definition(full, one));
});
