import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ImageService, LocalImage } from '../runtime/runtime.ts';
import { openPullRecords, readPulledImages } from './pulled-images.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-pulled-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const warnings: string[] = [];
const open = (nodeDir = folder) => openPullRecords(nodeDir, (message) => warnings.push(message));
const image = (name: string): LocalImage => ({ id: `id-${name}`, names: [name], sizeBytes: 1 });
const options = { signal: new AbortController().signal };
const repository = 'docker.io/library/new';
const secret = { uid: 'u', namespace: 'default', name: 'login', hash: 'h' };
const withSecret = { auth: { username: 'a', password: 'topsecret', serverAddress: 'docker.io' }, hash: 'h', secret };

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
    isRefused: async () => false,
    usedByContainers: async () => new Set(),
  };
}

describe('what the agent pulled', () => {
  it('is written down once, unless it was there before or did not come', async () => {
    const images = (await open()).recording(engine('there:1'));
    for (const name of ['new:1', 'there:1', 'new:1', 'other@sha256:1']) await images.pull(name, options);
    await expect(images.pull('missing:1', options)).rejects.toThrow('no such image');
    expect(await readPulledImages(folder)).toEqual(['new:1', 'other@sha256:1']);
    expect(warnings).toEqual([]);
  });

  it('is pulled all the same when it cannot be written down', async () => {
    const images = (await open(join(folder, 'gone'))).recording(engine());
    expect(await images.pull('new:1', options)).toMatchObject({ id: 'id-new:1' });
    expect(warnings.splice(0)).toContainEqual(expect.stringContaining('which images were pulled'));
  });

  it('is remembered with those who may use it, and no password', async () => {
    const records = await open();
    await records.recording(engine()).pull('new:1', options);
    expect(records.get('id-new:1')).toEqual({ names: ['new:1'], access: {} });
    await records.allow('id-new:1', repository, withSecret);
    await records.allow('id-new:1', repository, { ...withSecret, secret: { ...secret, hash: 'h2' } });
    const known = (await open()).get('id-new:1');
    expect(known?.access[repository]).toEqual({ secrets: [{ ...secret, hash: 'h2' }] });
    expect(readFileSync(join(folder, 'images.json'), 'utf8')).not.toContain('topsecret');
    await records.allow('id-new:1', repository, undefined);
    expect((await open()).get('id-new:1')?.access[repository]).toEqual({ anyone: true });
  });

  it('is forgotten when it is gone', async () => {
    const records = await open();
    const images = records.recording(engine());
    for (const name of ['new:1', 'new:2']) await images.pull(name, options);
    await records.reconcile(async () => [image('new:2')]);
    expect(await readPulledImages(folder)).toEqual(['new:2']);
  });

  it('is not forgotten when it came while the list of images was on its way', async () => {
    const records = await open();
    const images = records.recording(engine());
    await records.reconcile(async () => {
      await images.pull('new:1', options);
      return [];
    });
    expect(records.get('id-new:1')).toEqual({ names: ['new:1'], access: {} });
  });

  it('is known to have been pulled, with no credential, when the agent was killed before it heard of the end', async () => {
    const records = await open();
    const never = { ...engine(), pull: () => new Promise<LocalImage>(() => undefined) };
    void records.recording(never).pull('new:1', options);
    await expect.poll(() => readPulling()).toEqual({ 'new:1': { isNew: true } });
    const next = await open();
    await next.reconcile(async () => [image('new:1')]);
    expect(next.get('id-new:1')).toEqual({ names: ['new:1'], access: {} });
    expect(readPulling()).toEqual({});
  });

  it('is taken over from older versions, which wrote names alone', async () => {
    writeFileSync(join(folder, 'pulled-images'), 'new:1\nnew:2\nnew:1\n');
    const records = await open();
    expect([...records.names()]).toEqual(['new:1', 'new:2']);
    await records.reconcile(async () => [{ ...image('x'), names: ['new:1', 'docker.io/library/new:2'] }]);
    expect(records.get('id-x')?.names).toEqual(['new:1', 'new:2']);
  });

  it("counts as the machine's own when the file is damaged", async () => {
    writeFileSync(join(folder, 'images.json'), '{');
    expect((await open()).names().size).toBe(0);
    expect(warnings.splice(0)).toEqual([expect.stringContaining('cannot read which images were pulled')]);
  });
});

function readPulling(): unknown {
  try {
    return (JSON.parse(readFileSync(join(folder, 'images.json'), 'utf8')) as { pulling: unknown }).pulling;
  } catch {
    return undefined;
  }
}
