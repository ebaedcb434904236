import { Command } from 'commander';
import { expect, it } from 'vitest';
import { expandBooleanFlags } from './boolean-flags.ts';

const program = new Command('p').option('-n, --namespace <name>');
program.command('delete').option('--no-wait').option('--force').option('--dry-run [where]').option('--ignore-not-found');
program.command('run').option('--overwrite <what>');

it.each([
  ['delete --wait=false', 'delete --no-wait'],
  ['delete --wait=true --force=true', 'delete --force'],
  ['delete --force=false --ignore-not-found=true', 'delete --ignore-not-found'],
  ['-n ns delete x --force=true', '-n ns delete x --force'],
  ['delete --unknown=true', 'delete --unknown=true'],
  ['delete --dry-run=false', 'delete --dry-run=false'],
  ['run --overwrite=true --force=true', 'run --overwrite=true --force=true'],
  ['delete -- --force=true', 'delete -- --force=true'],
])('rewrites "%s" for the parser', (given, expected) =>
  expect(expandBooleanFlags(program, given.split(' ')).join(' ')).toBe(expected),
);
