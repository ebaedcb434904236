import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeAtomically } from './atomic-files.ts';
import { OutsideVolumeError, openInside } from './inside.ts';
import { createMounts } from './mounts.ts';
import { createVolumes } from './volumes.ts';

let folder: string;
let volume: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-inside-'));
  volume = join(folder, 'volume');
  mkdirSync(volume);
  writeFileSync(join(folder, 'secret'), 'of the machine');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Where the handle leads, relative to the volume. */
async function placeOf(path: string): Promise<string> {
  const handle = await openInside(volume, path);
  try {
    return readlinkSync(`/proc/self/fd/${handle.fd}`).slice(volume.length);
  } finally {
    await handle.close();
  }
}

const openDescriptors = () => readdirSync('/proc/self/fd').length;

describe('a path inside of a volume', () => {
  it('is found, and made where it is missing with the permissions of the volume', async () => {
    chmodSync(volume, 0o2775);
    mkdirSync(join(volume, 'a/b'), { recursive: true });
    writeFileSync(join(volume, 'a/file'), '');
    expect(await placeOf('a/b')).toBe('/a/b');
    expect(await placeOf('a/file')).toBe('/a/file');
    expect(await placeOf('./a//b/')).toBe('/a/b');
    expect(await placeOf('new/deep')).toBe('/new/deep');
    expect(statSync(join(volume, 'new/deep')).mode & 0o7777).toBe(0o2775);
    expect(await placeOf('.')).toBe('');
  });

  it.each(['/etc', '..', '../secret', 'a/../../secret', 'a/..', 'a\0b'])('is not %j', async (path) => {
    await expect(openInside(volume, path)).rejects.toThrow(OutsideVolumeError);
    expect(readdirSync(volume)).toEqual([]);
  });

  it('goes through links that stay inside', async () => {
    mkdirSync(join(volume, 'real/inner'), { recursive: true });
    symlinkSync('real', join(volume, 'link'));
    symlinkSync('../link/inner', join(volume, 'real/again'));
    expect(await placeOf('link/inner')).toBe('/real/inner');
    expect(await placeOf('link/again/new')).toBe('/real/inner/new');
  });

  it.each([
    ['to the root of the machine', '/etc', 'link'],
    ['to above the volume', '../secret', 'link'],
    ['to above the volume by detours', 'a/../../secret', 'link'],
    ['to a place in the volume by its path on the machine', '/tmp', 'link/x'],
    ['that is missing above the volume', '../new', 'link'],
  ])('does not go through a link %s', async (_title, target, path) => {
    mkdirSync(join(volume, 'a'));
    symlinkSync(target, join(volume, 'link'));
    await expect(openInside(volume, path)).rejects.toThrow('leads out of the volume');
    expect(readdirSync(folder).sort()).toEqual(['secret', 'volume']);
  });

  it('does not go round in circles, nor too deep, and leaves no descriptor open', async () => {
    const before = openDescriptors();
    symlinkSync('b', join(volume, 'a'));
    symlinkSync('a', join(volume, 'b'));
    await expect(openInside(volume, 'a')).rejects.toThrow('more than 40 links');
    await expect(openInside(volume, 'd/'.repeat(300))).rejects.toThrow('nested deeper');
    writeFileSync(join(volume, 'file'), '');
    await expect(openInside(volume, 'file/x')).rejects.toThrow('is not a folder');
    await expect(openInside(volume, 'n'.repeat(256))).rejects.toThrow('ENAMETOOLONG');
    expect(openDescriptors()).toBe(before);
  });

  it('never leads out while a container swaps folders and links all the time', async () => {
    mkdirSync(join(folder, 'outside/inner'), { recursive: true });
    mkdirSync(join(volume, 'dir/inner'), { recursive: true });
    symlinkSync('../outside', join(volume, 'evil'));
    symlinkSync(join(folder, 'outside'), join(volume, 'worse'));
    let swapping = true;
    let swaps = 0;
    const moment = () => new Promise((resolve) => setImmediate(resolve));
    // Where nothing is for a moment a folder may have been made meanwhile, which is right: it is inside.
    const move = (from: string, to: string) => {
      for (;;) {
        try {
          return renameSync(join(volume, from), join(volume, to));
        } catch {
          rmSync(join(volume, to), { recursive: true, force: true });
        }
      }
    };
    const swap = async () => {
      while (swapping) {
        for (const other of ['evil', 'worse']) {
          move('dir', 'kept');
          move(other, 'dir');
          await moment();
          move('dir', other);
          move('kept', 'dir');
          await moment();
          swaps++;
        }
      }
    };
    const swapper = swap();
    const places = new Set<string>();
    for (let i = 0; i < 400; i++) {
      const handle = await openInside(volume, 'dir/inner/new').catch(() => undefined);
      if (handle === undefined) continue;
      places.add(readlinkSync(`/proc/self/fd/${handle.fd}`));
      await handle.close();
    }
    swapping = false;
    await swapper;
    expect(swaps).toBeGreaterThan(10);
    for (const place of places) expect(place).toMatch(new RegExp(`^${volume}/(dir|kept)/inner/new$`));
    expect(readdirSync(join(folder, 'outside/inner'))).toEqual([]);
  });
});

describe.runIf(process.getuid?.() === 0)('a part of a volume', () => {
  const mounts = createMounts();
  const podDir = () => join(folder, 'pods/u1');
  const wanted = (subPath: string, index = 0) => ({
    podDir: podDir(),
    volumePath: volume,
    volumeName: 'data',
    containerName: 'main',
    index,
    subPath,
  });
  const volumes = () => createVolumes(join(folder, 'pods'), { mounts });
  afterEach(() => volumes().removePodVolumes('u1'));

  it('is mounted once, and again when it has become another', async () => {
    mkdirSync(join(volume, 'part'));
    writeFileSync(join(volume, 'part/x'), '1');
    writeFileSync(join(volume, 'file'), 'one');
    const path = await volumes().ensureSubPath(wanted('part'));
    expect(path).toBe(join(podDir(), 'volume-subpaths/data/main/0'));
    expect(await volumes().ensureSubPath(wanted('part'))).toBe(path);
    expect((await mounts.list()).filter((each) => each === path)).toHaveLength(1);
    writeFileSync(join(path, 'y'), '2');
    expect(readdirSync(join(volume, 'part'))).toEqual(['x', 'y']);
    expect(await volumes().ensureSubPath(wanted('file'))).toBe(path);
    expect(readFileSync(path, 'utf8')).toBe('one');
    expect((await mounts.list()).filter((each) => each === path)).toHaveLength(1);
  });

  it('of an object does not follow its changes until it is mounted anew', async () => {
    const file = (text: string) => [{ path: 'key', data: Buffer.from(text), mode: 0o644 }];
    await writeAtomically(volume, file('old'));
    const path = await volumes().ensureSubPath(wanted('key'));
    await writeAtomically(volume, file('new'));
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readFileSync(await volumes().ensureSubPath(wanted('key')), 'utf8')).toBe('new');
  });

  it('goes with the pod, and what it is a part of stays', async () => {
    mkdirSync(join(volume, 'part'));
    writeFileSync(join(volume, 'part/precious'), '');
    writeFileSync(join(volume, 'precious'), '');
    await volumes().ensureSubPath(wanted('part'));
    await volumes().ensureSubPath(wanted('precious', 1));
    // As an agent that starts anew sweeps what the one before it left.
    await volumes().removePodVolumes('u1');
    expect(existsSync(podDir())).toBe(false);
    expect([readdirSync(volume).sort(), readdirSync(join(volume, 'part'))]).toEqual([['part', 'precious'], ['precious']]);
    expect((await mounts.list()).filter((path) => path.startsWith(folder))).toEqual([]);
  });

  it('goes without its data also when the data directory is reached through a link', async () => {
    mkdirSync(join(folder, 'elsewhere'));
    symlinkSync('elsewhere', join(folder, 'linked'));
    const linked = createVolumes(join(folder, 'linked'), { mounts });
    writeFileSync(join(volume, 'precious'), '');
    const request = { ...wanted(''), podDir: linked.podDir('u1') };
    const path = await linked.ensureSubPath(request);
    expect(await linked.ensureSubPath(request)).toBe(path);
    expect(readdirSync(path)).toEqual(['precious']);
    await linked.removePodVolumes('u1');
    expect(readdirSync(volume)).toEqual(['precious']);
    expect(existsSync(join(folder, 'elsewhere/u1'))).toBe(false);
  });
});

describe('an agent without rights', () => {
  it('says that it cannot mount a part of a volume', async () => {
    const volumes = createVolumes(join(folder, 'pods'), { canMount: false });
    const request = {
      podDir: volumes.podDir('u1'),
      volumePath: volume,
      volumeName: 'v',
      containerName: 'c',
      index: 0,
      subPath: 'a',
    };
    await expect(volumes.ensureSubPath(request)).rejects.toThrow('runs as root');
  });
});
