import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';

export interface ImageArchive {
  /** The digest of the image's configuration: its id, but for engines that keep images in containerd's store. */
  readonly id: string;
  /** As `docker save` writes it. */
  readonly tar: Buffer;
}

const epoch = new Date(0);
const digestOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/**
 * An image of one layer, the same bytes and so the same id each time:
 * what the engine has by that id is this very image.
 */
export async function imageArchive(
  reference: string,
  layer: Uint8Array,
  entrypoint: readonly string[],
  arch: string = process.arch,
): Promise<ImageArchive> {
  const created = epoch.toISOString();
  const config = JSON.stringify({
    architecture: arch === 'x64' ? 'amd64' : arch,
    os: 'linux',
    created,
    config: entrypoint.length === 0 ? {} : { Entrypoint: entrypoint },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digestOf(layer)}`] },
    history: [{ created, created_by: 'berth' }],
  });
  const hex = digestOf(config);
  const manifest = JSON.stringify([{ Config: `${hex}.json`, RepoTags: [reference], Layers: ['layer.tar'] }]);
  const archive = pack();
  const tar = buffer(archive);
  for (const [name, bytes] of [
    [`${hex}.json`, Buffer.from(config)],
    ['layer.tar', Buffer.from(layer)],
    ['manifest.json', Buffer.from(manifest)],
  ] as const)
    archive.entry({ name, mode: 0o644, mtime: epoch }, bytes);
  archive.finalize();
  return { id: `sha256:${hex}`, tar: await tar };
}
