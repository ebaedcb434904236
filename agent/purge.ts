import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ownSandboxImage } from './pause/sandbox-image.ts';
import { createDockerRuntime } from './runtime/docker/docker-runtime.ts';
import { createMounts } from './volumes/mounts.ts';

/**
 * Removes everything that agents with this data directory made: their containers, the mounts below the directory, the sandbox image when
 * nobody else uses it, and the directory itself. Nothing else is touched. Yields a line for each thing that is gone.
 */
export async function* purge(dataDir: string, socketPath?: string): AsyncIterable<string> {
  const options = socketPath ? { socketPath } : {};
  for (const nodeName of await nodeNames(dataDir)) {
    const docker = createDockerRuntime({ nodeName, ...options });
    try {
      const containers = await docker.runtime.list();
      // The pods' containers before the sandboxes whose network they share.
      const order = containers.toSorted((a, b) => Number(a.containerName === 'POD') - Number(b.containerName === 'POD'));
      for (const container of order) await docker.runtime.remove(container.id);
      if (order.length > 0) yield `${order.length} containers of node ${nodeName}`;
      if ((await docker.images.find(ownSandboxImage)) && (await docker.images.remove(ownSandboxImage)))
        yield `image ${ownSandboxImage}`;
    } finally {
      docker.close();
    }
  }
  const mounts = createMounts();
  const below = (await mounts.list()).filter((path) => path.startsWith(`${dataDir}/`));
  // The last one mounted first, so that nothing is busy because of what is mounted on it.
  for (const path of below.toReversed()) await mounts.unmount(path);
  if (below.length > 0) yield `${below.length} mounts below ${dataDir}`;
  await rm(dataDir, { recursive: true, force: true });
  yield `folder ${dataDir}`;
}

async function nodeNames(dataDir: string): Promise<string[]> {
  try {
    return await readdir(join(dataDir, 'node'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
