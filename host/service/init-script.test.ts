import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { initScriptText } from './init-script.ts';

const text = initScriptText({
  dataDir: '/srv/it is',
  supervise: '/usr/lib/node_modules/berth/bin/berth-supervise',
  commands: (['server', 'agent'] as const).map((name) => ({
    name,
    dataDir: '/srv/it is',
    words: ['/usr/bin/node', '/usr/lib/node_modules/berth/bin/berth', name, '--data-dir', '/srv/it is', '--node-name', "it's"],
    environment: (name === 'agent' ? { DOCKER_HOST: 'unix:///run/my docker.sock' } : {}) as Record<string, string>,
    version: '0.1.0',
  })),
});

it('is a script of sh that starts both keepers, the server first, each word as it is', () => {
  expect(() => execFileSync('/bin/sh', ['-n'], { input: text })).not.toThrow();
  expect(text).toContain(
    "  keep server /usr/bin/node /usr/lib/node_modules/berth/bin/berth server --data-dir '/srv/it is' --node-name 'it'\\''s'\n  DOCKER_HOST='unix:///run/my docker.sock' keep agent ",
  );
  expect(text).toContain("run='/srv/it is/run' logs='/srv/it is/logs'");
});

it('says whose it is, and to an init system what it needs', () => {
  expect(text.split('\n').slice(0, 3)).toEqual([
    '#!/bin/sh',
    '# Berth in /srv/it is: made by "berth install", removed by "berth uninstall".',
    '### BEGIN INIT INFO',
  ]);
  expect(text).toMatch(/^# Provides: +berth$[\s\S]*^# Default-Start: +2 3 4 5$[\s\S]*^### END INIT INFO$/m);
});

it('refuses what it does not know, with what it does', () => {
  expect(() => execFileSync('/bin/sh', ['-s', 'dance'], { input: text, stdio: 'pipe' })).toThrow(
    /usage: .* start\|stop\|restart\|status/,
  );
});
