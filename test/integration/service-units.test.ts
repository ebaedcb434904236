import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unitName, unitText } from '../../host/service/systemd-unit.ts';

// What systemd itself says of the units; it need not run for that.
let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-units-'));
  const launcher = join(root, 'berth');
  writeFileSync(launcher, '#!/bin/sh\n');
  chmodSync(launcher, 0o755);
  mkdirSync(join(root, 'units'));
  const words = (name: string) => [process.execPath, launcher, name, '--node-name', 'a b%c"d'];
  const systemd = Number(/^systemd (\d+)/.exec(execFileSync('systemd-analyze', ['--version'], { encoding: 'utf8' }))?.[1]);
  const common = { dataDir: '/var/lib/berth', environment: { A: 'b c' }, version: '0.1.0', systemd, paths: ['/usr/bin/node'] };
  for (const name of ['server', 'agent'] as const)
    writeFileSync(join(root, 'units', unitName(name)), unitText({ ...common, name, words: words(name) }));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const analyze = (...args: string[]) => spawnSync('systemd-analyze', [...args], { encoding: 'utf8' });
const unit = (name: 'server' | 'agent') => join(root, 'units', unitName(name));

it('finds nothing to object to in the units', () => {
  const { status, stdout, stderr } = analyze('verify', '--man=no', unit('server'), unit('agent'));
  // Of the machine's other units it complains in passing.
  const about = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('berth'));
  expect({ status, about }).toEqual({ status: 0, about: [] });
});

it('would see a setting that does not exist', () => {
  const wrong = join(root, 'units', 'berth-wrong.service');
  writeFileSync(
    wrong,
    unitText({
      name: 'agent',
      dataDir: '/',
      words: [process.execPath],
      environment: {},
      version: '',
      systemd: 0,
      paths: [],
    }).replace('KillMode=', 'KillMood='),
  );
  expect(analyze('verify', '--man=no', wrong).stderr).toContain('KillMood');
});

it('finds the server shut in well, and the agent as far as its mounts allow', () => {
  const exposure = (name: 'server' | 'agent'): number => {
    const { stdout, stderr } = analyze('security', '--offline=true', '--no-pager', unit(name));
    return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1] ?? expect.unreachable(stderr));
  };
  expect(exposure('server')).toBeLessThanOrEqual(2.5);
  expect(exposure('agent')).toBeLessThanOrEqual(8);
});
