import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ImageService, LocalImage } from '../runtime/runtime.ts';
import { readPulledImages, recordPulls } from './pulled-images.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-pulled-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const image = (name: string): LocalImage => ({ id: name, names: [name], sizeBytes: 1 });

function engine(...present: string[]): ImageService {
  const here = new Set(present);
  return {
    find: async (name) => (here.has(name) ? image(name) : undefined),
    pull: async (name) => {
      if (name.startsWith('missing')) throw new Error('no such image');
      here.add(name);
      return image(name);
    },
    list: async () => [],
    load: async (name) => image(name),
    remove: async () => true,
  };
}

describe('what the agent pulled', () => {
  it('is written down once, unless it was there before or did not come', async () => {
    const warnings: string[] = [];
    const images = recordPulls(engine('there:1'), folder, (message) => warnings.push(message));
    const { signal } = new AbortController();
    for (const name of ['new:1', 'there:1', 'new:1', 'other@sha256:1']) await images.pull(name, signal);
    await expect(images.pull('missing:1', signal)).rejects.toThrow('no such image');
    expect(await readPulledImages(folder)).toEqual(['new:1', 'other@sha256:1']);
    expect(warnings).toEqual([]);
  });

  it('is pulled all the same when it cannot be written down', async () => {
    const warnings: string[] = [];
    const images = recordPulls(engine(), join(folder, 'gone'), (message) => warnings.push(message));
    expect(await images.pull('new:1', new AbortController().signal)).toMatchObject({ id: 'new:1' });
    expect(warnings).toEqual([expect.stringContaining('image new:1 was pulled')]);
  });
});
