import { expect, it } from 'vitest';
import { commandWord, globalValueFlags } from './command-word.ts';
import { createProgram } from './main.ts';

it.each([
  ['scheduler --config f', 'scheduler'],
  ['--context other scheduler', 'scheduler'],
  ['--context=other scheduler', 'scheduler'],
  ['-n server get pods', 'get'],
  ['-nserver get pods', 'get'],
  ['--as agent --as-group server get pods', 'get'],
  ['--version', undefined],
  ['', undefined],
])('the words "%s" call %s', (words, command) => {
  expect(commandWord(words.split(' ').filter(Boolean))).toBe(command);
});

it('knows all flags of every command that take a value', () => {
  const flags = createProgram().options.filter(({ required, optional }) => required || optional);
  expect([...globalValueFlags].sort()).toEqual(
    flags.flatMap(({ short, long }) => [short, long].filter((each) => each !== undefined)).sort(),
  );
});
