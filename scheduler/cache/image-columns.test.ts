import { describe, expect, it } from 'vitest';
import { node } from '../../test/builders/index.ts';
import { createCache } from './cache.ts';
import { createImageColumns, imagesOf } from './image-columns.ts';
import { createNodeTable } from './node-table.ts';

const having = (name: string, ...images: string[]) =>
  node(name)
    .with((each) => {
      each.status!.images = images.map((image) => ({ names: [image], sizeBytes: 7 }));
    })
    .build();

describe('images on nodes', () => {
  it('keep the same value as long as the list says the same', () => {
    const [first, same, other] = [having('n', 'web:1'), having('n', 'web:1'), having('n', 'web:2')];
    const known = imagesOf(first, undefined, new Map());
    expect([...known]).toEqual([['web:1', 7]]);
    expect(imagesOf(same, first, known)).toBe(known);
    expect([...imagesOf(other, first, known).keys()]).toEqual(['web:2']);
    expect(imagesOf({}, first, known).size).toBe(0);
  });

  it('are found under each of their names', () => {
    const digest = `web@sha256:${'0'.repeat(64)}`;
    const both = node('n').with((each) => {
      each.status!.images = [{ names: ['docker.io/library/web:1', digest], sizeBytes: 7 }];
    });
    expect([...imagesOf(both.build(), undefined, new Map()).keys()]).toEqual(['web:1', digest]);
  });

  it('are counted on, while the table grows beyond its first size', () => {
    const cache = createCache({ now: () => 0 });
    const table = createNodeTable();
    for (let i = 0; i < 200; i++) {
      cache.setNode(having(`n${i}`, i % 4 === 0 ? 'web:1' : 'db:1'));
      cache.sync(table);
      expect(table.image('web:1')?.nodes).toBe(Math.floor(i / 4) + 1);
    }
    const { sizes } = table.image('web:1')!;
    expect(table.names.filter((_, row) => sizes[row] === 7)).toHaveLength(50);
  });

  it('are kept in columns for a bounded number of images, those asked for last', () => {
    const columns = createImageColumns();
    const names = Array.from({ length: 65 }, (_, i) => `web:${i}`);
    columns.write(0, new Map(names.map((name) => [name, 7])));
    const first = columns.get('web:0', 1);
    const second = columns.get('web:1', 1);
    for (const name of names.slice(2)) {
      columns.get('web:0', 1);
      columns.get(name, 1);
    }
    expect(columns.get('web:0', 1)).toBe(first);
    expect(columns.get('web:1', 1)).not.toBe(second);
    expect(columns.get('web:1', 1)).toEqual(second);
  });
});
