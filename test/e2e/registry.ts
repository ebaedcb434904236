import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

export interface Registry {
  /** "127.0.0.1:PORT": the engine speaks plain HTTP with registries on this machine. */
  readonly address: string;
  close(): Promise<void>;
}

const sha256 = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const drops = 25;

async function drip(response: ServerResponse, bytes: Buffer): Promise<void> {
  const size = Math.ceil(bytes.length / drops);
  for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
    response.write(bytes.subarray(at, at + size));
    await delay(1_600);
  }
  response.end();
}

/**
 * A registry whose every image, whatever its name, is one small file that sets it apart from images of other names.
 * Those whose names begin with "stalls" come half, and then no more; those of "drips" come in small pieces, which takes
 * most of a minute.
 */
export async function startRegistry(): Promise<Registry> {
  const blobs = new Map<string, Buffer>();
  const stalled = new Set<string>();
  const dripping = new Set<string>();
  const keep = (bytes: Buffer) => {
    blobs.set(sha256(bytes), bytes);
    return { digest: sha256(bytes), size: bytes.length };
  };
  async function manifestOf(name: string): Promise<Buffer> {
    const layer = pack();
    layer.entry({ name: 'name', mtime: new Date(0) }, name);
    layer.finalize();
    const tar = await buffer(layer);
    if (name.startsWith('stalls')) stalled.add(sha256(gzipSync(tar)));
    if (name.startsWith('drips')) dripping.add(sha256(gzipSync(tar)));
    const type = 'application/vnd.docker';
    const config = { architecture: 'amd64', os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: [sha256(tar)] } };
    return Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: `${type}.distribution.manifest.v2+json`,
        config: { mediaType: `${type}.container.image.v1+json`, ...keep(Buffer.from(JSON.stringify(config))) },
        layers: [{ mediaType: `${type}.image.rootfs.diff.tar.gzip`, ...keep(gzipSync(tar)) }],
      }),
    );
  }
  const server = createServer(async (request, response) => {
    const [, name = '', kind, digest = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? '') ?? [];
    const found = kind === 'manifests' ? await manifestOf(name) : (blobs.get(digest) ?? Buffer.from('{}'));
    if (kind === 'manifests') {
      response.setHeader('Content-Type', 'application/vnd.docker.distribution.manifest.v2+json');
      response.setHeader('Docker-Content-Digest', sha256(found));
    }
    response.setHeader('Content-Length', found.length);
    if (stalled.has(digest)) return void response.write(found.subarray(0, found.length / 2));
    if (dripping.has(digest)) return void drip(response, found);
    response.end(request.method === 'HEAD' ? undefined : found);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
