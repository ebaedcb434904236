import { execFileSync } from 'node:child_process';
import { Dir, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Container, Volume } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { container } from '../../test/builders/plan.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { advance, createRecord } from '../pod/pod-record.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { createDiskLimits } from './disk-limits.ts';
import { storageLimits } from './storage-limits.ts';
import { TreeMeter } from './tree-meter.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-limits-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, bytes: number) => writeFileSync(join(folder, path), Buffer.alloc(bytes, 1));

/** Measures to the end in small steps. */
function measured(path: string, entries = 3): number {
  const meter = new TreeMeter(path);
  while (!meter.isDone) meter.step(entries);
  return meter.bytes;
}

/** Folders below each other, farther than a path reaches, each with an empty one beside, and a file at the end. */
const deepTree = (levels: number, path = join(folder, 'deep')): string => {
  mkdirSync(path, { recursive: true });
  const name = 'd'.repeat(200);
  const script = `const { mkdirSync, writeFileSync } = require('node:fs');
    for (let i = 0; i < ${levels}; i++) { mkdirSync('a'); mkdirSync('${name}'); mkdirSync('z'); process.chdir('${name}'); }
    writeFileSync('file', Buffer.alloc(100_000, 1));`;
  execFileSync(process.execPath, ['-e', script], { cwd: path });
  return path;
};

describe('what a folder takes on the disk', () => {
  it('is what du says of its content, however small the steps are', () => {
    for (const name of ['a', 'b/c']) mkdirSync(join(folder, name), { recursive: true });
    for (const name of ['x', 'a/y', 'b/c/z']) write(name, 10_000);
    const kilobytes = Number(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }).split('\t')[0]);
    const root = Number(execFileSync('stat', ['-c', '%b', folder], { encoding: 'utf8' })) * 512;
    for (const entries of [1, 2, 1_000]) expect(measured(folder, entries)).toBe(kilobytes * 1024 - root);
  });

  it('follows no link, and counts a file with two names once', () => {
    mkdirSync(join(folder, 'volume'));
    mkdirSync(join(folder, 'outside'));
    write('outside/big', 500_000);
    const empty = measured(join(folder, 'volume'));
    symlinkSync('../outside', join(folder, 'volume/link'));
    symlinkSync('../outside/big', join(folder, 'volume/file'));
    expect(measured(join(folder, 'volume'))).toBe(empty);
    write('volume/one', 8_192);
    const once = measured(join(folder, 'volume'));
    linkSync(join(folder, 'volume/one'), join(folder, 'volume/two'));
    expect(measured(join(folder, 'volume'))).toBe(once);
  });

  it('is what was seen of it when a folder cannot be read to its end', () => {
    mkdirSync(join(folder, 'broken'));
    const reading = vi.spyOn(Dir.prototype, 'readSync');
    const meter = new TreeMeter(join(folder, 'broken'));
    meter.step(1);
    reading.mockImplementationOnce(() => {
      throw Object.assign(new Error('input/output error'), { code: 'EIO' });
    });
    meter.step(1);
    reading.mockRestore();
    expect([meter.isDone, meter.bytes]).toEqual([true, 0]);
  });

  const descriptors = (): number => readdirSync('/proc/self/fd').length;

  it('holds what lies below paths that are longer than the kernel takes', () => {
    const before = descriptors();
    const path = deepTree(100);
    try {
      const kilobytes = Number(execFileSync('du', ['-sk', path], { encoding: 'utf8' }).split('\t')[0]);
      const root = Number(execFileSync('stat', ['-c', '%b', path], { encoding: 'utf8' })) * 512;
      expect(measured(path)).toBe(kilobytes * 1024 - root);
      expect(descriptors()).toBe(before);
    } finally {
      execFileSync('rm', ['-rf', path]);
    }
  });

  it('is partial where more folders would have to stay open than are allowed', () => {
    const before = descriptors();
    const path = deepTree(1_200);
    try {
      const meter = new TreeMeter(path);
      while (!meter.isDone) meter.step(10);
      expect(meter.isPartial).toBe(true);
      expect(descriptors()).toBe(before);
    } finally {
      execFileSync('rm', ['-rf', path]);
    }
  });

  it('is nothing of a folder that is not there, and leaves no descriptor open', () => {
    const before = readdirSync('/proc/self/fd').length;
    expect(measured(join(folder, 'none'))).toBe(0);
    write('a', 1);
    const meter = new TreeMeter(folder);
    meter.step(1);
    meter.close();
    expect(meter.isDone).toBe(true);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });
});

describe('the limit of an emptyDir on the disk', () => {
  const limit = (name: string, sizeLimit: string, medium = ''): Volume => ({
    name,
    volumeSource: { emptyDir: { medium, sizeLimit: { string: sizeLimit } } },
  });
  const clock = createFakeClock();

  function limitsFor(...volumes: Volume[]) {
    const record = createRecord('u1', pod('web').uid('u1').spec({ volumes }).build());
    advance(record, { type: 'admit' });
    const evicted: string[] = [];
    const limits = createDiskLimits({
      records: () => [record],
      podDir: (uid) => join(folder, uid),
      evict: (uid, { reason, message }) => void evicted.push(`${uid} ${reason}: ${message}`),
      clock,
      entriesOfLook: 60,
    });
    return { record, evicted, limits };
  }
  const volumeDir = (name: string) => {
    const path = `u1/volumes/emptyDir/${name}`;
    mkdirSync(join(folder, path), { recursive: true });
    return path;
  };

  it.each([
    ['10Mi', '', 1],
    ['0', '', 0],
    ['10Mi', 'Memory', 0],
    ['16Ei', '', 1],
  ])('of %s with medium %j is looked after: %i', (size, medium, count) => {
    const built = pod('p')
      .spec({ volumes: [limit('v', size, medium)] })
      .build();
    expect(storageLimits(createRecord('u1', built), '/x')).toHaveLength(count);
  });

  it('ends the pod when there is more, and not before', async () => {
    const { evicted, limits } = limitsFor(limit('small', '100Ki'), limit('large', '10Mi'));
    write(`${volumeDir('large')}/f`, 200_000);
    const small = volumeDir('small');
    write(`${small}/f`, 50_000);
    await limits.look();
    expect(evicted).toEqual([]);
    write(`${small}/g`, 60_000);
    await limits.look();
    expect(evicted).toEqual(['u1 Evicted: Usage of EmptyDir volume "small" exceeds the limit "100Ki".']);
  });

  it('ends the pod when what is in it cannot be counted', async () => {
    const { evicted, limits } = limitsFor(limit('v', '1Gi'));
    const path = join(folder, volumeDir('v'));
    try {
      deepTree(1_200, path);
      for (let look = 0; look < 200 && evicted.length === 0; look++) await limits.look();
      expect(evicted[0]).toMatch(
        /^u1 Evicted: Usage of EmptyDir volume "v" exceeds .* its directories are too many, or nested too deep\.$/,
      );
    } finally {
      execFileSync('rm', ['-rf', path]);
    }
  });

  it('is not looked at any more once the pod is on its way out', async () => {
    const { record, evicted, limits } = limitsFor(limit('v', '1Ki'));
    write(`${volumeDir('v')}/f`, 100_000);
    advance(record, { type: 'delete', gracePeriodSeconds: 30 });
    await limits.look();
    expect(evicted).toEqual([]);
  });

  it('costs a bounded look however many files there are, and is found out over several', async () => {
    const { evicted, limits } = limitsFor(limit('many', '390Ki'), limit('other', '1Ki'));
    const many = volumeDir('many');
    for (let i = 0; i < 100; i++) write(`${many}/f${i}`, 1);
    write(`${volumeDir('other')}/f`, 100_000);
    await limits.look();
    expect(evicted).toEqual([]);
    await limits.look();
    expect(evicted.map((line) => line.split('"')[1]).sort()).toEqual(['many', 'other']);
  });
});

describe('the limits of ephemeral-storage', () => {
  const storage = (limit: string) => ({ resources: { limits: { 'ephemeral-storage': { string: limit } } } });
  const observed = (name: string, attempt = 0) =>
    container(name, {
      attempt,
      files: { writableLayer: join(folder, `${name}-${attempt}/diff`), log: join(folder, `${name}-${attempt}/json.log`) },
    });

  function house(containers: Container[], volumes: Volume[] = []) {
    const record = createRecord('u1', pod('web').uid('u1').spec({ containers, volumes }).build());
    advance(record, { type: 'admit' });
    const evicted: string[] = [];
    const run = (...all: ObservedContainer[]) => {
      for (const each of all) {
        mkdirSync(each.files!.writableLayer!, { recursive: true });
        record.containers.set(each.id, each);
      }
    };
    const limits = createDiskLimits({
      records: () => [record],
      podDir: (uid) => join(folder, uid),
      evict(_uid, ending) {
        if (advance(record, { type: 'end', why: ending })) evicted.push(`${ending.reason}: ${ending.message}`);
      },
      clock: createFakeClock(),
      entriesOfLook: 100,
    });
    return { record, evicted, run, look: limits.look };
  }

  it("evict a pod whose container's writable layer and log files are more than its limit, and not before", async () => {
    const { evicted, run, look } = house([{ name: 'app', ...storage('200Ki') }]);
    run(observed('app'));
    write('app-0/diff/f', 90 * 1024);
    write('app-0/json.log.1', 90 * 1024);
    await look();
    expect(evicted).toEqual([]);
    write('app-0/json.log', 60 * 1024);
    await look();
    expect(evicted).toEqual([
      expect.stringMatching(
        /^Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 200Ki. It uses 2[4-9]\dKi.$/,
      ),
    ]);
  });

  it('name the container that is beyond its own while the pod is not', async () => {
    const { evicted, run, look } = house([
      { name: 'app', ...storage('100Ki') },
      { name: 'side', ...storage('1Mi') },
    ]);
    run(observed('app'), observed('side'));
    write('app-0/diff/f', 120 * 1024);
    await look();
    expect(evicted).toEqual([
      expect.stringMatching(/^Evicted: Container app exceeded its local ephemeral storage limit "100Ki". It uses 1[23]\dKi.$/),
    ]);
  });

  it('count what a pod puts into its emptyDirs on the disk, and what containers without a limit write, but no memory volume', async () => {
    const empty = (name: string, medium = ''): Volume => ({ name, volumeSource: { emptyDir: { medium } } });
    const { evicted, run, look } = house(
      [{ name: 'app', ...storage('200Ki') }, { name: 'side' }],
      [empty('disk'), empty('memory', 'Memory')],
    );
    run(observed('app'), observed('side'));
    for (const name of ['disk', 'memory']) mkdirSync(join(folder, 'u1/volumes/emptyDir', name), { recursive: true });
    write('u1/volumes/emptyDir/memory/f', 500 * 1024);
    write('u1/volumes/emptyDir/disk/f', 120 * 1024);
    await look();
    expect(evicted).toEqual([]);
    write('side-0/diff/f', 100 * 1024);
    await look();
    expect(evicted).toHaveLength(1);
  });

  it.each([
    ['what the image calls a volume', 'volume/f'],
    ['its last words', 'u1/containers/app/0'],
    ['its /etc/hosts', 'u1/etc-hosts'],
    ['its host name', 'sandbox/hostname'],
  ])('count all that a container can write to: %s', async (_, file) => {
    const { evicted, run, look } = house([{ name: 'app', ...storage('100Ki') }]);
    const app = observed('app');
    const files = { ...app.files!, imageVolumes: [join(folder, 'volume')], singleFiles: [join(folder, 'sandbox/hostname')] };
    run({ ...app, files });
    await look();
    expect(evicted).toEqual([]);
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    write(file, 120 * 1024);
    await look();
    expect(evicted).toHaveLength(1);
  });

  it('count the last run of a container only', async () => {
    const { evicted, run, look } = house([{ name: 'app', ...storage('200Ki') }]);
    run(observed('app', 0), observed('app', 1));
    for (const attempt of [0, 1]) write(`app-${attempt}/diff/f`, 150 * 1024);
    await look();
    expect(evicted).toEqual([]);
  });

  it('are looked at in turns: a folder with many files keeps no other one waiting for ever', async () => {
    const { evicted, run, look } = house([
      { name: 'one', ...storage('1Gi') },
      { name: 'two', ...storage('1Gi') },
      { name: 'late', ...storage('10Ki') },
    ]);
    run(observed('one'), observed('two'), observed('late'));
    for (const name of ['one', 'two']) for (let i = 0; i < 98; i++) write(`${name}-0/diff/f${i}`, 1);
    write('late-0/diff/f', 20 * 1024);
    for (let i = 0; i < 3; i++) await look();
    expect(evicted).toHaveLength(1);
  });
});
