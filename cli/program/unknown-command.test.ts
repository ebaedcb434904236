import { expect, it } from 'vitest';
import { commands } from '../../host/main.ts';
import { unknownCommand } from './unknown-command.ts';

const known = commands.map(({ name }) => name);

it.each([
  ['aply', "unknown command 'aply'; did you mean apply?"],
  ['rollout', '"berth rollout" is not there yet: "berth get" and "berth describe" show how far an object has come'],
  ['expose', '"berth expose" is not there yet: Berth has no Services so far'],
  ['set', '"berth set" is not there yet: "berth patch" and "berth edit" change an object'],
  ['stop', 'unknown command \'stop\'; "berth delete pod NAME" ends a pod'],
  ['ps', 'unknown command \'ps\'; "berth get pods -A" lists what runs'],
  ...['restart', 'delet', 'dwn', 'restor', 'constructor', '_complete'].map((word) => [
    word,
    `unknown command '${word}'; "berth --help" lists the commands`,
  ]),
])('says of "%s": %s', (word, message) => expect(unknownCommand(word, known).message).toBe(message));

it('calls nothing missing that is a command', () => {
  for (const name of known) expect(unknownCommand(name, known).message).not.toContain('not there yet');
});
