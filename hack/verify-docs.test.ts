import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('the documents', () => {
  it('name only files that exist on the walk of a pod', () => {
    const named = [...read('docs/walk-of-a-pod.md').matchAll(/`([a-z-]+\/[a-z0-9./-]+)`/g)].map((match) => match[1] ?? '');
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('link only to what exists', () => {
    for (const page of ['README.md', 'HACKING.md', 'docs/glossary.md', 'docs/scheduler.md']) {
      const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map((match) => match[1] ?? '');
      expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
    }
  });

  it('say what every room is for, in at most 15 lines', () => {
    const rooms = readdirSync(root).filter(
      (name) => !/^(\.|node_modules|dist|coverage|docs$)/.test(name) && statSync(join(root, name)).isDirectory(),
    );
    for (const room of rooms) expect(read(`${room}/README.md`).trimEnd().split('\n').length, room).toBeLessThanOrEqual(15);
  });
});
