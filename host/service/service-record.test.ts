import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decideFileState, hashOf, ownerOf, putFile, readService, titleOf, writeService } from './service-record.ts';

const ours = `${titleOf('/var/lib/berth')}\n`;

it.each([
  ['absent', undefined, hashOf(ours)],
  ['ours', ours, hashOf(ours)],
  ['edited', `${ours}# more\n`, hashOf(ours)],
  ['edited', ours, undefined],
  ['foreign', `${titleOf('/srv/other')}\n`, undefined],
  ['foreign', '[Unit]\n', undefined],
] as const)('a file is %s', (state, text, recorded) => {
  expect(decideFileState(text, recorded, '/var/lib/berth')).toBe(state);
});

it('knows whose a file is, also behind the first line of a script', () => {
  expect(ownerOf(`#!/bin/sh\n${titleOf('/srv/a b')}\n`)).toBe('/srv/a b');
  expect(ownerOf('[Unit]\nDescription=Berth in /srv\n')).toBeUndefined();
});

describe('a file of a service', () => {
  let folder: string;
  let path: string;
  const put = (text: string) => putFile(folder, { path, text: `${titleOf(folder)}\n${text}\n`, mode: 0o644 });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-service-'));
    path = join(folder, 'etc', 'berth.service');
    writeService(folder, { manager: 'systemd', files: [] });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is written once, and again when it says something else', () => {
    expect(put('one')).toEqual({ isNew: true });
    expect(put('one')).toEqual({ isNew: false });
    expect(put('two')).toEqual({ isNew: true });
    const text = readFileSync(path, 'utf8');
    expect(readService(folder)).toEqual({ manager: 'systemd', files: [{ path, sha256: hashOf(text) }] });
  });

  it('is kept aside when a user has changed it', () => {
    put('one');
    writeFileSync(path, 'mine\n');
    expect(put('two')).toEqual({ isNew: true, kept: `${path}.bak` });
    expect(readFileSync(`${path}.bak`, 'utf8')).toBe('mine\n');
  });

  it('is not written over another one’s', () => {
    put('one');
    writeService(folder, { manager: 'systemd', files: [] });
    writeFileSync(path, `${titleOf('/srv/other')}\n`);
    expect(() => put('two')).toThrow('is the service of another Berth, in /srv/other');
    writeFileSync(path, 'stranger\n');
    expect(() => put('two')).toThrow("is there already and not Berth's: move it away first");
    expect(existsSync(`${path}.bak`)).toBe(false);
  });

  it('has a record that is not guessed at when it is damaged', () => {
    writeFileSync(join(folder, 'service.json'), '{');
    expect(() => readService(folder)).toThrow(/service.json is damaged: remove it/);
  });
});
