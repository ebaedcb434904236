import { Ajv2020 } from 'ajv/dist/2020.js';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { customKind } from '../../api/kinds/custom/custom-kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { kindJsonSchema } from './json-schema.ts';
import { kindTypes } from './typescript.ts';

const kind = customKind({ spec: { group: 'g.io', names: { kind: 'Toy', singular: 'toy', plural: 'toys' } } }, { name: 'v1' });
const schema: JsonObject = {
  type: 'object',
  description: 'A toy */ throw 1; /*',
  required: ['spec'],
  properties: {
    metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } },
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'string', enum: ['S', 'L'], nullable: true, description: 'How\n large.', default: 'S' },
        port: { 'x-kubernetes-int-or-string': true },
        weight: { type: 'number', minimum: 0, exclusiveMinimum: true, anyOf: [{ maximum: 3 }, { minimum: 5 }] },
        limits: { type: 'object', additionalProperties: { type: 'integer' } },
        parts: { type: 'array', items: { type: 'object', properties: { 'a-b': { type: 'boolean' } } } },
        partsItem: { type: 'object', properties: { c: { type: 'string' } } },
        tags: { type: 'array', items: { type: 'string', nullable: true } },
        any: { 'x-kubernetes-preserve-unknown-fields': true },
        open: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { known: { type: 'integer' } },
          not: { required: ['bad'], properties: { bad: { enum: [1] } } },
        },
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
      },
    },
  },
};

const head = { apiVersion: 'g.io/v1', kind: 'Toy', metadata: { name: 'a', creationTimestamp: null } };
const template = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } };

/** Specs with whether they are valid: for the server, for JSON Schema, and for TypeScript where it can tell. */
const specs: readonly [JsonObject, boolean, ('untold' | undefined)?][] = [
  [{ size: 'S' }, true],
  [{ size: null, port: 1, weight: 2, limits: { a: 1 }, parts: [{ 'a-b': true }], tags: ['x', null] }, true],
  [{ size: 'L', port: 'http', any: [1, { a: 'b' }], open: { known: 1, other: 'x' }, template }, true],
  [{ size: 'L', partsItem: { c: 'x' }, weight: 6 }, true],
  [{}, false],
  [{ size: 'M' }, false],
  [{ size: 'S', sice: 1 }, false],
  [{ size: 'S', port: true }, false],
  [{ size: 'S', weight: 0 }, false, 'untold'],
  [{ size: 'S', weight: 4 }, false, 'untold'],
  [{ size: 'S', limits: { a: 'x' } }, false],
  [{ size: 'S', parts: [{ 'a-c': true }] }, false],
  [{ size: 'S', partsItem: { c: 1 } }, false],
  [{ size: 'S', tags: [1] }, false],
  [{ size: 'S', open: { bad: 1 } }, false, 'untold'],
  [{ size: 'S', template: { kind: 'Pod' } }, false, 'untold'],
];

it('the JSON Schema of a kind accepts what the server accepts, and nothing else', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const isValid = ajv.compile(kindJsonSchema(kind, schema) as object);
  for (const [spec, expected] of specs)
    expect({ spec, valid: isValid({ ...head, spec }) }, JSON.stringify(isValid.errors)).toEqual({ spec, valid: expected });
  expect(isValid({ ...head, metadata: { name: 'long' }, spec: { size: 'S' } })).toBe(false);
  expect(isValid({ ...head, metadata: { labels: { a: 1 } }, spec: { size: 'S' } })).toBe(false);
  expect(isValid({ ...head, metadata: { labels: { a: 'b' } }, spec: { size: 'S' } })).toBe(true);
  expect(isValid({ ...head, metadata: { label: { a: 'b' } }, spec: { size: 'S' } })).toBe(false);
  expect(isValid({ ...head, apiVersion: 'g.io/v2', spec: { size: 'S' } })).toBe(false);
  expect(isValid({ apiVersion: 'g.io/v1', spec: { size: 'S' } })).toBe(false);
});

it('the types of a kind compile, and fit the same objects', () => {
  const types = kindTypes(kind, schema);
  expect(types).toContain('/** A toy *\\/ throw 1; /* */\nexport interface Toy extends ApiObject {');
  expect(types).toContain('  /** How large. Default: "S" */\n  readonly size: "S" | "L" | null;\n');
  expect(types).toContain('  readonly "a-b"?: boolean;\n');
  const lines = specs.map(([spec]) => `const toy: Toy = ${JSON.stringify({ metadata: { name: 'a' }, spec })};`);
  const before = `${types}\n`;
  const errors = compiled(`${before}${lines.map((line) => `{ ${line} }`).join('\n')}\n`);
  const first = before.split('\n').length - 1;
  for (const [at, [spec, expected, untold]] of specs.entries()) {
    const found = errors.filter(({ line }) => line === first + at);
    expect({ spec, fits: found.length === 0 }, JSON.stringify(found)).toEqual({ spec, fits: expected || untold === 'untold' });
  }
  expect(errors.filter(({ line }) => line < first)).toEqual([]);
}, 60_000);

const library = 'export interface ApiObject { apiVersion?: string; kind?: string; metadata?: { name?: string } }';

/** What the compiler says of a module, by lines; "berth" has only what the types import. */
function compiled(text: string): { readonly line: number; readonly message: string }[] {
  const files: Readonly<Record<string, string>> = { '/toy.ts': text, '/berth.ts': library };
  const host = ts.createCompilerHost({});
  const read = host.getSourceFile.bind(host);
  const inMemory: ts.CompilerHost = {
    ...host,
    getSourceFile: (name, version) => (name in files ? ts.createSourceFile(name, files[name]!, version) : read(name, version)),
    fileExists: (name) => name in files || host.fileExists(name),
    resolveModuleNames: () => [{ resolvedFileName: '/berth.ts' }],
  };
  const options = { strict: true, noEmit: true, types: [], lib: ['lib.es5.d.ts'], target: ts.ScriptTarget.ES2022 };
  const program = ts.createProgram(['/toy.ts'], options, inMemory);
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => ({
    line: file?.getLineAndCharacterOfPosition(start).line ?? -1,
    message: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }));
}
