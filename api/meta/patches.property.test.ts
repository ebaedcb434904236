import fc from 'fast-check';
import { expect, it } from 'vitest';
import { slowJsonPatch, slowMergePatch } from '../../test/reference/json-patches.ts';
import { applyJsonPatch, parseJsonPatch } from './json-patch.ts';
import { computeMergePatch, type Json, type JsonObject, mergePatch } from './merge-patch.ts';

// Random documents and patches of few names, so that patches often meet what is there.
const names = ['a', 'b', 'a/b', '~1', '0', ''];
const leaf = fc.constantFrom<Json>(null, true, 0, 1, 'x', '');
const { document, object } = fc.letrec<{ document: Json; object: JsonObject }>((tie) => ({
  document: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('document'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...names), tie('document'), { maxKeys: 4, noNullPrototype: true }),
}));
const full = fc.record({
  a: fc.array(document, { minLength: 1, maxLength: 3 }),
  b: object,
  'a/b': document,
  '': leaf,
}) as fc.Arbitrary<Json>;
const step = fc.constantFrom('a', 'b', 'a~1b', '~01', '0', '1', '2', '-', '01', '');
const pointer = fc.array(step, { maxLength: 2 }).map((steps) => steps.map((each) => `/${each}`).join(''));
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path: pointer, value: document }),
  fc.record({ op: fc.constant('remove'), path: pointer }),
  fc.record({ op: fc.constantFrom('move', 'copy'), path: pointer, from: pointer }),
) as fc.Arbitrary<JsonObject>;

function patched(target: Json, operations: JsonObject[]): Json | undefined {
  const read = parseJsonPatch(operations);
  try {
    return applyJsonPatch(target, read);
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    return undefined;
  }
}

it('a merge patch does what a slow reference does, and changes neither of its arguments', () => {
  fc.assert(
    fc.property(document, document, (target, patch) => {
      const [before, asked] = [structuredClone(target), structuredClone(patch)];
      expect(mergePatch(target, patch)).toEqual(slowMergePatch(target, patch));
      expect([target, patch]).toEqual([before, asked]);
    }),
    { numRuns: 1_000 },
  );
});

it('the merge patch that is computed of two objects without nulls leads from one to the other', () => {
  const withoutNulls = object.map((value) => JSON.parse(JSON.stringify(value).replaceAll('null', '2')) as JsonObject);
  fc.assert(
    fc.property(withoutNulls, withoutNulls, (before, after) => {
      const patch = computeMergePatch(before, after);
      expect(patch === undefined ? before : mergePatch(before, patch)).toEqual(after);
      if (patch) expect(slowMergePatch(before, patch)).toEqual(after);
    }),
    { numRuns: 1_000 },
  );
});

it('a JSON patch does, or refuses, what a slow reference does, and leaves its target as it was', () => {
  let done = 0;
  fc.assert(
    fc.property(fc.oneof(full, document), fc.array(operation, { minLength: 1, maxLength: 3 }), (target, operations) => {
      const before = structuredClone(target);
      const result = patched(target, operations);
      if (result !== undefined) done++;
      expect(result).toEqual(slowJsonPatch(target, operations));
      expect(target).toEqual(before);
    }),
    { numRuns: 2_000 },
  );
  // Most random operations name what is not there; so many are carried out all the same.
  expect(done).toBeGreaterThan(20);
});
