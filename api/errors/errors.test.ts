import { expect, it } from 'vitest';
import {
  duplicate,
  invalid,
  invalidValue,
  isInvalid,
  isNotFound,
  notFound,
  notSupported,
  required,
  tooLong,
  unknownField,
} from './index.ts';

it('names the object and lists every violation in the message', () => {
  const error = invalid({ kind: 'Pod', name: 'web', namespace: 'a' }, [
    required('spec.x'),
    invalidValue('spec.y', 'z', 'must be good'),
  ]);
  expect(error.message).toBe(
    'pod "web" in namespace "a" is invalid: spec.x: is required; spec.y: invalid value "z": must be good',
  );
  expect(error.violations).toHaveLength(2);
});

it('is recognised through the causes of other errors', () => {
  const wrapped = new Error('outer', { cause: new Error('inner', { cause: notFound({ kind: 'Pod', name: 'web' }) }) });
  expect([isNotFound(wrapped), isInvalid(wrapped), isNotFound(new Error('no')), isNotFound(undefined)]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

it('says what is wrong in words, with a reason for programs', () => {
  expect([notSupported('a', 'x', ['y', 'z']), duplicate('a', 5), tooLong('a', 3, 'bytes'), unknownField('a', 'b')]).toMatchObject(
    [
      { field: 'a', description: 'unsupported value "x": must be one of "y", "z"', reason: 'FieldValueNotSupported' },
      { field: 'a', description: 'duplicate value 5', reason: 'FieldValueDuplicate' },
      { field: 'a', description: 'too long: must have at most 3 bytes', reason: 'FieldValueTooLong' },
      { field: 'a', description: 'unknown field; did you mean "b"?', reason: 'FieldUnknown' },
    ],
  );
});

it('does not repeat a long value in full', () => {
  expect(invalidValue('a', 'x'.repeat(5000), 'is long').description.length).toBeLessThan(120);
});

it('says no path for a violation of the whole object', () => {
  const error = invalid({ kind: 'Pod', name: 'web' }, [
    { field: '', description: 'wrong type', reason: 'FieldValueTypeInvalid' },
  ]);
  expect(error.message).toBe('pod "web" is invalid: wrong type');
});
