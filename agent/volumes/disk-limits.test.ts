import { execFileSync } from 'node:child_process';
import { Dir, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Volume } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createRecord } from '../pod/pod-record.ts';
import { createDiskLimits, limitedVolumes } from './disk-limits.ts';
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
    record.admitted = true;
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
    expect(
      limitedVolumes(
        pod('p')
          .spec({ volumes: [limit('v', size, medium)] })
          .build(),
        '/x',
      ),
    ).toHaveLength(count);
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

  it('is not looked at any more once the pod is on its way out', async () => {
    const { record, evicted, limits } = limitsFor(limit('v', '1Ki'));
    write(`${volumeDir('v')}/f`, 100_000);
    record.kill = { gracePeriodSeconds: 30 };
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
