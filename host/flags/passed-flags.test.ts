import { resolve } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { registerAgent } from '../commands/agent.ts';
import { registerInstall } from '../commands/install.ts';
import { registerJoin } from '../commands/join.ts';
import { registerServer } from '../commands/server.ts';
import { registerUp, withSettings } from '../commands/up.ts';
import { changedSettings, computeSettings, ignoredFlags, printFlags, settingsErrors } from '../installation/up-settings.ts';
import { mergePassed, passedArguments, passedErrors, passedOf } from './passed-flags.ts';

const program = new Command();
for (const register of [registerServer, registerAgent, registerUp, registerJoin, registerInstall]) register(program);
const commandOf = (...names: string[]): Command =>
  names.reduce((from, name) => from.commands.find((each) => each.name() === name)!, program);
const flagsOf = (...names: string[]) => new Set(commandOf(...names).options.map(({ long }) => long));

/** What `berth up` makes of a command line. */
function given(...words: string[]): object {
  const command = withSettings(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  return command.parse(words, { from: 'user' }).opts();
}
const base = { listen: '127.0.0.1:7443', nodeName: 'n1' };

describe('every flag of a process', () => {
  it.each<[string, string[], string[], string[]]>([
    // The first is a store that forgets, the second what Berth writes of itself.
    ['server', ['--backend', '--log-file'], ['up'], []],
    ['server', ['--backend', '--log-file'], ['install', 'server'], []],
    // Names the machine's own server; the engine that is looked at before is DOCKER_HOST's.
    ['agent', ['--server', '--docker-socket', '--log-file'], ['up'], []],
    ['agent', ['--server', '--docker-socket', '--log-file'], ['join'], []],
    ['agent', ['--server', '--docker-socket', '--log-file'], ['install', 'agent'], []],
  ])('of %s but %j is one of berth %j', (name, exceptions, starter) => {
    const [taken, there] = [flagsOf(name), flagsOf(...starter)];
    expect([...taken].filter((flag) => !there.has(flag))).toEqual([...taken].filter((flag) => exceptions.includes(flag ?? '')));
  });
});

describe('a flag that is handed on', () => {
  it('reaches the process that knows it, as it was typed, files from where they were seen', () => {
    const typed = given(
      '--node-eviction-rate',
      '0.2',
      '--audit-policy-file',
      'a.yaml',
      '--log-level',
      'warn',
      '--event-ttl',
      '90s',
    );
    const { passed } = computeSettings(typed, undefined);
    expect(passedArguments('server', passed).toSorted()).toEqual(
      [
        '--audit-policy-file',
        resolve('a.yaml'),
        '--event-ttl',
        '90s',
        '--log-level',
        'warn',
        '--node-eviction-rate',
        '0.2',
      ].toSorted(),
    );
    expect(passedArguments('agent', passed)).toEqual(['--log-level', 'warn']);
  });

  it('may be given several times where the process takes it several times', () => {
    const { passed } = computeSettings(given('--pinned-image', 'a', '--pinned-image', 'b'), undefined);
    expect(passedArguments('agent', passed)).toEqual(['--pinned-image', 'a', '--pinned-image', 'b']);
  });

  it('is remembered, until another value is given or it is put back', () => {
    const first = computeSettings(given('--client-rate', '7', '--no-audit'), undefined);
    expect(computeSettings(given(), first).passed).toEqual({ '--client-rate': ['7'], '--no-audit': [] });
    expect(computeSettings(given('--client-rate', '8'), first).passed).toEqual({ '--client-rate': ['8'], '--no-audit': [] });
    expect(computeSettings(given('--client-rate', '', '--audit'), first).passed).toBeUndefined();
  });

  it('is not applied to what runs, and that is said, with what it runs with', () => {
    const running = { ...base, passed: { '--client-rate': ['7'] } };
    const asked = given('--client-rate', '8', '--no-audit', '--event-ttl', '');
    expect(ignoredFlags(asked, running)).toEqual([
      '--client-rate 8 (it runs with 7)',
      '--no-audit given (it runs with its default)',
    ]);
    expect(printFlags(asked)).toContain(' --client-rate 8');
    expect(printFlags(given('--audit', '--event-ttl', ''))).toBe(' --event-ttl "" --audit');
    expect(ignoredFlags(given('--client-rate', '7', '--audit'), running)).toEqual([]);
    expect(changedSettings({ ...base, passed: {} }, running)).toEqual(['--client-rate its default (before 7)']);
  });

  it('is checked before anything is started', () => {
    for (const words of [
      ['--client-rate', 'x'],
      ['--tls-min-version', 'TLS9'],
      ['--image-gc-low-threshold', '101'],
    ])
      expect(() => given(...words), words.join(' ')).toThrow();
    expect(settingsErrors(given('--node-eviction-rate', '-1', '--no-audit', '--audit-policy-file', 'f'))).toEqual([
      expect.stringContaining('--node-eviction-rate "-1" must be a number'),
      '--audit-policy-file and --no-audit exclude each other',
    ]);
    expect(passedErrors(passedOf(given('--node-eviction-rate', '')))).toEqual([]);
  });

  it('of an older installation is none', () => {
    expect(mergePassed(undefined, {})).toBeUndefined();
    expect(passedArguments('server', undefined)).toEqual([]);
  });
});
