import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
// @ts-expect-error a plain script without types
import { buildOf } from './bundle.js';

describe.skipIf(spawnSync('git', ['--version']).status !== 0)('what /version says of the build', () => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'berth-build-')));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      ...{ cwd: folder, encoding: 'utf8' as const, stdio: ['ignore', 'pipe', 'ignore'] as const },
      env: { ...process.env, GIT_COMMITTER_DATE: '2026-01-02T03:04:05+01:00' },
    }).trim();

  it('is the commit of the sources, its date, and whether they were changed since', () => {
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '--message=a');
    const commit = git('rev-parse', 'HEAD');
    expect(buildOf(folder)).toBe(`${commit} 2026-01-02T02:04:05Z clean`);
    writeFileSync(join(folder, 'a'), '');
    expect(buildOf(folder)).toBe(`${commit} 2026-01-02T02:04:05Z dirty`);
  });

  it('is nothing where the sources have no repository, or lie in that of something else', () => {
    expect(buildOf(folder)).toBe('');
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '--message=a');
    mkdirSync(join(folder, 'sources'));
    expect(buildOf(join(folder, 'sources'))).toBe('');
  });
});
