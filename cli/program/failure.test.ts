import { expect, it } from 'vitest';
import { invalid } from '../../api/errors/index.ts';
import { describeFailure } from './failure.ts';

it('tells several violations a line each, and no path of one that is about the object as a whole', () => {
  const violations = [
    { field: 'spec.image', description: 'Required value', reason: 'FieldValueRequired' },
    { field: '', description: 'Invalid value: "null": not all rules were checked', reason: 'FieldValueInvalid' },
  ];
  expect(describeFailure(invalid({ kind: 'Queue', name: 'mails' }, violations)).split('\n')).toEqual([
    'queue "mails" is invalid:',
    '  spec.image: Required value',
    '  Invalid value: "null": not all rules were checked',
  ]);
});
