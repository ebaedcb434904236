import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pod } from '../../test/builders/index.ts';
import { ensureOwnership, modeForGroup, ownershipOf } from './ownership.ts';
import { createVolumes } from './volumes.ts';

let folder: string;
let volume: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-owner-'));
  volume = join(folder, 'volume');
  mkdirSync(volume, { mode: 0o777 });
  chmodSync(volume, 0o777);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const look = (path: string) => {
  const { gid, mode } = lstatSync(path);
  return `${gid} ${(mode & 0o7777).toString(8)}`;
};
const always = { gid: 4321, onRootMismatch: false };

describe('the mode of what belongs to a group', () => {
  it.each([
    [0o600, 'file', false, 0o660],
    [0o400, 'file', true, 0o440],
    [0o4755, 'file', false, 0o4775],
    [0o700, 'directory', false, 0o2770],
    [0o755, 'directory', true, 0o2755],
    [0o1777, 'directory', false, 0o3777],
  ] as const)('makes %o of a %s (read-only: %s) to %o', (mode, kind, readOnly, result) => {
    expect(modeForGroup(mode, kind, readOnly).toString(8)).toBe(result.toString(8));
  });
});

describe('the fsGroup of a pod', () => {
  it('is none, or a group with the policy', () => {
    expect(ownershipOf(pod('a').build())).toBeUndefined();
    expect(
      ownershipOf(
        pod('a')
          .spec({ securityContext: { fsGroup: 0 } })
          .build(),
      ),
    ).toEqual({ gid: 0, onRootMismatch: false });
    const securityContext = { fsGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' };
    expect(ownershipOf(pod('a').spec({ securityContext }).build())).toEqual({ gid: 7, onRootMismatch: true });
  });
});

// Only root may give files away.
describe.runIf(process.getuid?.() === 0)('a volume that is given to a group', () => {
  it('belongs to it with all its files and folders, which hand the group on', async () => {
    mkdirSync(join(volume, 'a/b'), { recursive: true, mode: 0o700 });
    writeFileSync(join(volume, 'a/b/file'), 'x', { mode: 0o600 });
    await ensureOwnership(volume, always);
    expect([volume, join(volume, 'a'), join(volume, 'a/b'), join(volume, 'a/b/file')].map(look)).toEqual([
      '4321 2777',
      '4321 2770',
      '4321 2770',
      '4321 660',
    ]);
    writeFileSync(join(volume, 'a/new'), '');
    expect(statSync(join(volume, 'a/new')).gid).toBe(4321);
  });

  it('never reaches through a link out of the volume, be it to a file or to a folder', async () => {
    mkdirSync(join(folder, 'outside'), { mode: 0o700 });
    writeFileSync(join(folder, 'outside/secret'), 'x', { mode: 0o600 });
    symlinkSync('../outside', join(volume, 'folder'));
    symlinkSync(join(folder, 'outside/secret'), join(volume, 'file'));
    symlinkSync('nowhere', join(volume, 'dangling'));
    await ensureOwnership(volume, always);
    expect([join(folder, 'outside'), join(folder, 'outside/secret')].map(look)).toEqual(['0 700', '0 600']);
    expect(lstatSync(join(volume, 'file')).gid).toBe(4321);
  });

  it('refuses a volume that is itself a link', async () => {
    mkdirSync(join(folder, 'outside'), { mode: 0o700 });
    symlinkSync(join(folder, 'outside'), join(folder, 'link'));
    await expect(ensureOwnership(join(folder, 'link'), always)).rejects.toThrow(/ELOOP|ENOTDIR/);
    expect(look(join(folder, 'outside'))).toBe('0 700');
  });

  it('does not wait for a pipe, and gives it away like a file', async () => {
    execFileSync('mkfifo', ['-m', '600', join(volume, 'pipe')]);
    await ensureOwnership(volume, always);
    expect(look(join(volume, 'pipe'))).toBe('4321 660');
  });

  it('is left alone with OnRootMismatch when its root is right, and walked when it is not', async () => {
    const policy = { ...always, onRootMismatch: true };
    await ensureOwnership(volume, policy);
    writeFileSync(join(volume, 'later'), 'x', { mode: 0o600 });
    chmodSync(join(volume, 'later'), 0o600);
    await ensureOwnership(volume, policy);
    expect(look(join(volume, 'later'))).toBe('4321 600');
    await ensureOwnership(volume, always);
    expect(look(join(volume, 'later'))).toBe('4321 660');
    chmodSync(join(volume, 'later'), 0o600);
    chmodSync(volume, 0o777);
    await ensureOwnership(volume, policy);
    expect(look(join(volume, 'later'))).toBe('4321 660');
  });

  it('keeps set-user-ID bits', async () => {
    writeFileSync(join(volume, 'program'), 'x');
    chmodSync(join(volume, 'program'), 0o4755);
    await ensureOwnership(volume, always);
    expect(look(join(volume, 'program'))).toBe('4321 4775');
  });

  it('refuses a tree that is deeper than any honest one', async () => {
    let path = volume;
    for (let depth = 0; depth < 505; depth++) path = join(path, 'd');
    mkdirSync(path, { recursive: true });
    await expect(ensureOwnership(volume, always)).rejects.toThrow('nested deeper than 500');
  });

  it('is given once for a pod, and files that come from an object at each of their versions; a path of the machine never', async () => {
    const volumes = createVolumes(join(folder, 'pods'), { canMount: false });
    mkdirSync(join(folder, 'host'), { mode: 0o700 });
    const wanted = (text: string) => ({
      podDir: volumes.podDir('u1'),
      pod: {
        spec: {
          volumes: [
            { name: 'e', volumeSource: { emptyDir: {} } },
            { name: 'c', volumeSource: { configMap: { localObjectReference: { name: 'cm' }, defaultMode: 0o400 } } },
            { name: 'h', volumeSource: { hostPath: { path: join(folder, 'host'), type: '' } } },
          ],
        },
      },
      configMaps: new Map([['cm', { data: { key: text } }]]),
      secrets: new Map(),
      claims: new Map(),
      node: undefined,
      allocatable: { cpuMilli: 0, memoryBytes: 0 },
      ownership: always,
    });
    const { volumes: ready, problems } = await volumes.ensureVolumes(wanted('one'));
    expect(problems).toEqual([]);
    const [empty = '', key = ''] = [ready.get('e')?.hostPath, `${ready.get('c')?.hostPath}/..data/key`];
    expect([empty, key, `${ready.get('c')?.hostPath}/..data/.`, join(folder, 'host')].map(look)).toEqual([
      '4321 2777',
      '4321 440',
      '4321 2755',
      '0 700',
    ]);
    writeFileSync(join(empty, 'mine'), '');
    chmodSync(join(empty, 'mine'), 0o600);
    const before = lstatSync(key).ino;
    await volumes.ensureVolumes(wanted('one'));
    expect([lstatSync(key).ino, look(join(empty, 'mine'))]).toEqual([before, '4321 600']);
    await volumes.ensureVolumes(wanted('two'));
    expect([readFileSync(key, 'utf8'), look(key)]).toEqual(['two', '4321 440']);
  });
});
