import { randomFillSync } from 'node:crypto';
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import type { Chance } from './random.ts';

const pageSize = 4096;

/** One way in which a page goes bad. */
type Damage = (page: Buffer, chance: Chance, other: () => Buffer) => string;

const damages: readonly Damage[] = [
  (page, chance) => {
    page[chance.below(pageSize)]! ^= 1 << chance.below(8);
    return 'one bit turned over';
  },
  (page, chance) => {
    // What counts stands at the beginning.
    page[chance.below(64)] = chance.below(256);
    return 'a byte of its header changed';
  },
  (page) => {
    randomFillSync(page);
    return 'filled by chance';
  },
  (page) => {
    page.fill(0);
    return 'emptied';
  },
  (page, chance) => {
    const sector = chance.below(pageSize / 512) * 512;
    page.fill(0, sector, sector + 512);
    return 'a sector emptied';
  },
  (page, _, other) => {
    other().copy(page);
    return 'written over with another page';
  },
  (page, chance, other) => {
    const half = chance.below(2) * (pageSize / 2);
    other().copy(page, half, half, half + pageSize / 2);
    return 'half of it written over with another page';
  },
  (page, chance) => {
    // As if a part had been written a little further on.
    page.copyWithin(chance.below(pageSize), chance.below(pageSize));
    return 'a part of it moved';
  },
];

/** Damages a page of a file: `number`, or any. Says what it did. */
export function damagePage(path: string, chance: Chance, number?: number): string {
  const file = openSync(path, 'r+');
  try {
    const pages = Math.floor(fstatSync(file).size / pageSize);
    const read = (at: number): Buffer => {
      const page = Buffer.alloc(pageSize);
      readSync(file, page, 0, pageSize, at * pageSize);
      return page;
    };
    const at = number ?? chance.below(pages);
    const page = read(at);
    const before = Buffer.from(page);
    let what = '';
    while (page.equals(before)) what = chance.pick(damages)(page, chance, () => read(chance.below(pages)));
    writeSync(file, page, 0, pageSize, at * pageSize);
    return `page ${at} ${what}`;
  } finally {
    closeSync(file);
  }
}

/** Cuts a file off anywhere, or at the end of a page. Says where. */
export function cutOff(path: string, chance: Chance): string {
  const file = openSync(path, 'r+');
  try {
    const { size } = fstatSync(file);
    const length = chance.pick([0, chance.below(size), chance.below(size), chance.below(size / pageSize) * pageSize, size - 1]);
    ftruncateSync(file, length);
    return `cut off at ${length} of ${size}`;
  } finally {
    closeSync(file);
  }
}
