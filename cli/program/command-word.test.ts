import { expect, it } from 'vitest';
import { commands, createProgram } from '../../host/main.ts';
import { commandWord, globalValueFlags } from './command-word.ts';

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

it('knows all flags of every command that take a value', async () => {
  const flags = (await createProgram()).options.filter(({ required, optional }) => required || optional);
  expect([...globalValueFlags].sort()).toEqual(
    flags.flatMap(({ short, long }) => [short, long].filter((each) => each !== undefined)).sort(),
  );
});

it('describes each command before it is loaded as the command describes itself', async () => {
  const loaded = (await createProgram()).commands.map((each) => ({ name: each.name(), description: each.description() }));
  expect(loaded).toEqual(commands.map(({ name, description }) => ({ name, description })));
});

it.each([
  ['get pods', ['get']],
  ['-n a __complete get po', ['get', '__complete']],
  ['fly', commands.map(({ name }) => name)],
  ['', commands.map(({ name }) => name)],
])('loads for the words "%s" the commands that they call', async (line, names) => {
  const program = await createProgram(line.split(' ').filter(Boolean));
  const withCode = program.commands.filter(
    (each) => each.options.length + each.commands.length + each.registeredArguments.length > 0,
  );
  const withoutOptions = ['api-versions'];
  expect(withCode.map((each) => each.name()).sort()).toEqual(names.filter((name) => !withoutOptions.includes(name)).toSorted());
});
