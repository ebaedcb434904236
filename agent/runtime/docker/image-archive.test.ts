import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { expect, it } from 'vitest';
import { imageArchive } from './image-archive.ts';

async function filesOf(tar: Buffer): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const reading = extract();
  reading.on('entry', (header, stream, next) => {
    void buffer(stream).then((bytes) => {
      files.set(header.name, bytes.toString('latin1'));
      next();
    });
  });
  reading.end(tar);
  await once(reading, 'finish');
  return files;
}

it('an image archive is the same each time, and its id is the digest of what it says of its layer and program', async () => {
  const layer = Buffer.from('layer');
  const archive = await imageArchive('own:1', layer, ['/run'], 'x64');
  expect(await imageArchive('own:1', layer, ['/run'], 'x64')).toEqual(archive);
  const files = await filesOf(archive.tar);
  const [manifest] = JSON.parse(files.get('manifest.json') ?? '') as { Config: string; RepoTags: string[]; Layers: string[] }[];
  const config = files.get(manifest!.Config) ?? '';
  expect(manifest).toMatchObject({ RepoTags: ['own:1'], Layers: ['layer.tar'] });
  expect(archive.id).toBe(`sha256:${createHash('sha256').update(config).digest('hex')}`);
  expect(JSON.parse(config)).toMatchObject({
    architecture: 'amd64',
    config: { Entrypoint: ['/run'] },
    rootfs: { diff_ids: [`sha256:${createHash('sha256').update('layer').digest('hex')}`] },
  });
  expect((await imageArchive('own:1', Buffer.from('other'), ['/run'], 'x64')).id).not.toBe(archive.id);
});
