import { Command } from 'commander';
import { expect, it } from 'vitest';
import { expandFlags } from './flag-words.ts';

const program = new Command('p').option('-n, --namespace <name>');
program
  .command('delete')
  .option('--no-wait')
  .option('--force')
  .option('--dry-run [where]')
  .option('--ignore-not-found')
  .option('--all');
program.command('run').option('--overwrite <what>').option('-i, --stdin').option('-t, --tty').option('-f, --filename <file>');
program.command('patch').option('-p, --patch <text>').option('-o, --output <format>').option('-A, --all-namespaces');
program.command('config').command('view').option('-o, --output <format>');

it.each([
  ['delete --wait=false', 'delete --no-wait'],
  ['delete --wait=true --force=true', 'delete --force'],
  ['delete --force=false --ignore-not-found=true', 'delete --ignore-not-found'],
  ['delete --force --force=false', 'delete'],
  ['delete --no-wait=false --all=T', 'delete --all'],
  ['delete --no-wait=1', 'delete --no-wait'],
  ['-n ns delete x --force=true', '-n ns delete x --force'],
  ['delete --unknown=true', 'delete --unknown=true'],
  ['delete --dry-run=false', 'delete --dry-run=false'],
  ['run --overwrite=true --force=true', 'run --overwrite=true --force=true'],
  ['delete -- --force=true -n=a', 'delete -- --force=true -n=a'],
  ['delete pods --all -n=other', 'delete pods --all --namespace=other'],
  ['-n=other delete pods', '--namespace=other delete pods'],
  ['patch pod -nother -oname', 'patch pod --namespace=other --output=name'],
  ['patch pod -p=[{"op":"remove"}]', 'patch pod --patch=[{"op":"remove"}]'],
  ['patch pod -p -n=a', 'patch pod -p -n=a'],
  ['patch pod -A=false', 'patch pod'],
  ['run -it -f=x.yaml', 'run -i -t --filename=x.yaml'],
  ['run -it=false', 'run -i'],
  ['run -itf x.yaml', 'run -i -t -f x.yaml'],
  ['run -f delete --force=true', 'run -f delete --force=true'],
  ['run delete -A', 'run delete -A'],
  ['run -ix', 'run -i -x'],
  ['run - -5', 'run - -5'],
  ['config view -o=json', 'config view --output=json'],
  ['delete --namespace delete --all=true', 'delete --namespace delete --all'],
])('rewrites "%s" for the parser', (given, expected) => expect(expandFlags(program, given.split(' ')).join(' ')).toBe(expected));

it.each(['delete --force=maybe', 'patch -A=', 'run -it=x'])('refuses "%s", which is neither true nor false', (given) =>
  expect(() => expandFlags(program, given.split(' '))).toThrow(/must be true or false/),
);
