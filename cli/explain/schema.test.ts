import { expect, it } from 'vitest';
import { customKind } from '../../api/kinds/custom/custom-kind.ts';
import { explainSchema, explainSchemaTree } from './schema.ts';

const kind = customKind({ spec: { group: 'g.io', names: { kind: 'Toy', singular: 'toy', plural: 'toys' } } }, { name: 'v1' });
const schema = {
  type: 'object',
  description: 'A toy.',
  required: ['size'],
  properties: {
    size: { type: 'string', enum: ['S', 'L'], description: 'How\n  large.' },
    port: { 'x-kubernetes-int-or-string': true },
    limits: { type: 'object', additionalProperties: { type: 'integer' } },
    parts: { type: 'object', additionalProperties: { type: 'array', items: { type: 'object', properties: { a: {} } } } },
  },
};

it('a value of a schema is shown with its values, and whether it is required', () => {
  expect(explainSchema(kind, schema, ['size'])).toBe(`GROUP:      g.io
KIND:       Toy
VERSION:    v1

FIELD: size <string> -required-
ENUM:
    S
    L

DESCRIPTION:
    How large.
`);
});

it('an object is shown with its fields in order, and a tree with the fields of items and values', () => {
  expect(explainSchema(kind, schema, [])).toContain('  size <string> -required-\n    one of S, L\n    How large.\n');
  expect(explainSchemaTree(kind, schema, []).split('FIELDS:\n')[1]).toBe(`  limits <map[string]integer>
  parts <map[string][]Object>
    a <Object>
  port <IntOrString>
  size <string> -required-
`);
});

it('a field that is not there is answered with those that are', () => {
  expect(() => explainSchema(kind, schema, ['sise'])).toThrow('"toy" has no field "sise"; did you mean "size"?');
  expect(() => explainSchema(kind, schema, ['size', 'x'])).toThrow('"toy.size" is a value; it has no field "x"');
});
