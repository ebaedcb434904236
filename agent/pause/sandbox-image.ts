import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { ImageService, LocalImage } from '../runtime/runtime.ts';
import type { Machine } from './elf.ts';
import { buildPauseProgram } from './program.ts';

/** The image that Berth makes itself; the number grows with the program. */
export const ownSandboxImage = 'berth/pause:3';
/** What it was called before: they are removed once no container uses them. */
export const formerSandboxImages: readonly string[] = ['berth/pause:1', 'berth/pause:2'];

const pullTimeoutMs = 600_000;
const path = 'pause';

/**
 * Makes sure that the sandbox image is present. Berth's own is made on the spot, without a registry, whatever has its
 * name: the engine is told what is in it and answers with that very image. Another is pulled when it is missing. Throws
 * RuntimeError.
 */
export async function ensureSandboxImage(
  images: ImageService,
  reference: string = ownSandboxImage,
  machine: Machine = thisMachine(),
): Promise<LocalImage> {
  if (reference === ownSandboxImage) return images.load(reference, await sandboxLayer(machine), [`/${path}`]);
  return (await images.find(reference)) ?? images.pull(reference, { signal: AbortSignal.timeout(pullTimeoutMs) });
}

/** The image's only layer: a tar with one file, the same bytes every time. */
export async function sandboxLayer(machine: Machine): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: path, mode: 0o755, mtime: new Date(0) }, buildPauseProgram(machine));
  archive.finalize();
  return buffer(archive);
}

export function thisMachine(arch: string = process.arch): Machine {
  if (arch === 'x64') return 'amd64';
  if (arch === 'arm64') return 'arm64';
  throw new Error(`no sandbox program for ${arch} processors: set a sandbox image of your own`);
}
