import { readdir, readFile, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isStoreAside, nodeMarker, ownEntries } from './data-dir.ts';
import { readPulledImages } from './images/pulled-images.ts';
import { removeNetwork } from './network.ts';
import { formerSandboxImages, ownSandboxImage } from './pause/sandbox-image.ts';
import { createDockerRuntime, type DockerRuntime } from './runtime/docker/docker-runtime.ts';
import { RuntimeError } from './runtime/runtime-error.ts';
import { createMounts } from './volumes/mounts.ts';
import { removeTree } from './volumes/remove-tree.ts';
import { wordsOf } from './words-of.ts';

/** A line for people: what is gone, what stays and why, and what should have gone and did not. */
export interface PurgeStep {
  readonly kind: 'removed' | 'kept' | 'failed';
  readonly what: string;
}

/** What would be purged. */
export interface PurgeScope {
  readonly dataDir: string;
  readonly nodeNames: readonly string[];
}

/**
 * Looks at what is to be purged before anything is touched. Undefined: it is no data directory of Berth. Throws
 * RuntimeError when containers may have to be removed and the engine does not answer.
 */
export async function preparePurge(dataDir: string): Promise<PurgeScope | undefined> {
  const nodeNames = await namesIn(join(dataDir, 'node'));
  if (!(await isDataDir(dataDir, nodeNames))) return undefined;
  const [first] = nodeNames;
  if (first === undefined) return { dataDir, nodeNames };
  const docker = createDockerRuntime({ nodeName: first, timeoutMs: 10_000 });
  try {
    await docker.runtime.version();
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    throw new RuntimeError(
      error.code,
      `cannot remove containers: ${error.message}; nothing was touched: start the Docker Engine and try again`,
      {
        cause: error,
      },
    );
  } finally {
    docker.close();
  }
  return { dataDir, nodeNames };
}

/** The names in it are common ones: only what Berth has marked is taken for its own. */
async function isDataDir(dataDir: string, nodeNames: readonly string[]): Promise<boolean> {
  const marks = ['installation.json', join('store', 'format'), ...nodeNames.map((name) => join('node', name, nodeMarker))];
  for (const mark of marks) if (await exists(join(dataDir, mark))) return true;
  return false;
}

/**
 * Removes everything that agents with this data directory made: their containers, the images they made and pulled where
 * no other container uses them, the mounts below the directory, and the files. Nothing else is touched. What fails does
 * not keep the rest from going, but the files that name it stay, so that it can be tried again.
 */
export async function* purge({ dataDir, nodeNames }: PurgeScope): AsyncIterable<PurgeStep> {
  let isClean = true;
  for (const nodeName of nodeNames) {
    for await (const step of purgeNode(dataDir, nodeName)) {
      isClean &&= step.kind !== 'failed';
      yield step;
    }
  }
  if (!isClean) return yield { kind: 'kept', what: `folder ${dataDir}, so that this can be tried again` };
  yield* purgeFiles(dataDir);
}

async function* purgeNode(dataDir: string, nodeName: string): AsyncIterable<PurgeStep> {
  const docker = createDockerRuntime({ nodeName });
  try {
    const containers = await docker.runtime.list();
    const inPods = containers.filter(({ containerName }) => containerName !== 'POD');
    const sandboxes = containers.filter(({ containerName }) => containerName === 'POD');
    // The pods' containers before the sandboxes whose network they share.
    const failures = [...(await removeContainers(docker, inPods)), ...(await removeContainers(docker, sandboxes))];
    for (const what of failures) yield { kind: 'failed', what };
    const removed = containers.length - failures.length;
    if (removed > 0) yield { kind: 'removed', what: `${removed} containers of node ${nodeName}` };
    if (await removeNetwork(dataDir, nodeName, join(dataDir, 'node', nodeName)))
      yield { kind: 'removed', what: `the pods' network of node ${nodeName}` };
    for (const image of [ownSandboxImage, ...formerSandboxImages, ...(await readPulledImages(join(dataDir, 'node', nodeName)))])
      yield* removeImage(docker, image);
  } catch (error) {
    yield { kind: 'failed', what: `containers of node ${nodeName}: ${wordsOf(error)}` };
  } finally {
    docker.close();
  }
}

/** The engine waits for the end of each: several at once. */
const removedAtOnce = 4;

/** Removes all that can be removed; returns what is wrong with the others. */
async function removeContainers({ runtime }: DockerRuntime, containers: readonly { readonly id: string }[]): Promise<string[]> {
  const queue = [...containers];
  const failures: string[] = [];
  const removeNext = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { id } = next;
      await runtime.remove(id).catch((error: unknown) => {
        failures.push(`container ${id.slice(0, 12)}: ${wordsOf(error)}`);
      });
    }
  };
  await Promise.all(Array.from({ length: removedAtOnce }, removeNext));
  return failures;
}

async function* removeImage({ images }: DockerRuntime, reference: string): AsyncIterable<PurgeStep> {
  if ((await images.find(reference)) === undefined) return;
  yield (await images.remove(reference))
    ? { kind: 'removed', what: `image ${reference}` }
    : { kind: 'kept', what: `image ${reference}: other containers use it` };
}

async function* purgeFiles(dataDir: string): AsyncIterable<PurgeStep> {
  const mounts = createMounts();
  const volumes = join(await realpath(dataDir), 'node', '/');
  const below = (await mounts.list()).filter((path) => path.startsWith(volumes));
  // The last one mounted first, so that nothing is busy because of what is mounted on it.
  for (const path of below.toReversed()) await mounts.unmount(path);
  if (below.length > 0) yield { kind: 'removed', what: `${below.length} mounts below ${dataDir}` };
  const madeFolder = await readMadeFolder(dataDir);
  for (const name of await namesIn(dataDir)) if (isStoreAside(name)) await removeAll(join(dataDir, name));
  // The record last: with it, a purge that was cut off can be tried again.
  for (const name of ownEntries.toReversed()) await removeAll(join(dataDir, name));
  const left = await namesIn(dataDir);
  if (left.length > 0)
    return yield { kind: 'kept', what: `folder ${dataDir}: it holds what Berth did not make (${left.slice(0, 3).join(', ')})` };
  if (madeFolder === '' || !(await removeEmpty(dataDir)))
    return yield { kind: 'removed', what: `all files in ${dataDir}; the folder was there before` };
  yield { kind: 'removed', what: `folder ${dataDir}` };
  if (madeFolder === undefined) return;
  for (let above = dirname(dataDir); above.startsWith(madeFolder); above = dirname(above))
    if (!(await removeEmpty(above))) return;
}

/**
 * The topmost folder that `berth up` made for the data directory; '' when all were there,
 * undefined when that is not known.
 */
async function readMadeFolder(dataDir: string): Promise<string | undefined> {
  try {
    const { madeFolder = '' } = JSON.parse(await readFile(join(dataDir, 'installation.json'), 'utf8')) as { madeFolder?: string };
    return madeFolder;
  } catch {
    // An agent's only, or damaged.
    return undefined;
  }
}

/** What a file system is mounted on cannot be removed: then what is in it goes. */
async function removeAll(path: string): Promise<void> {
  try {
    await removeTree(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    for (const name of await namesIn(path)) await removeAll(join(path, name));
  }
}

/** False when it is in use, not empty, or not a folder of its own (a link). */
async function removeEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch {
    return false;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
