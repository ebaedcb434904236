import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { createMadeFolders, defaultRoot, type MadeFolders } from '../local-path/made-folders.ts';
import { wordsOf } from '../words-of.ts';
import { isMade, isMissing, writeAtomically } from './atomic-files.ts';
import { ensureHostPath } from './host-path.ts';
import { createMounts, type Mounts, realPathOf, unmountBelow } from './mounts.ts';
import { ensureOwnership, type Ownership } from './ownership.ts';
import { removeTree } from './remove-tree.ts';
import { SharedMemory } from './shared-memory.ts';
import { ensureSubPath, type SubPathRequest, subPathFolder } from './sub-paths.ts';
import { createTurns } from './turns.ts';
import type { VolumeFile } from './volume-files.ts';
import { computeVolumePlan, isSafeName, type VolumeInput, type VolumeProblem, type VolumeStep } from './volume-plan.ts';

/** A volume that is there: what to mount into containers. */
export interface ReadyVolume {
  readonly hostPath: string;
  /**
   * Volumes made from objects are the agent's to write, and a claim may be for reading only: then containers get it
   * read-only, whatever they ask for.
   */
  readonly readOnly: boolean;
}

export interface VolumesReady {
  readonly volumes: ReadonlyMap<string, ReadyVolume>;
  /** Volumes that are not there, and why. A pod with one waits. */
  readonly problems: readonly VolumeProblem[];
}

export interface VolumesOptions {
  readonly mounts?: Mounts | undefined;
  /** Whether file systems can be mounted: by default when running as root. */
  readonly canMount?: boolean | undefined;
  readonly warn?: ((message: string) => void) | undefined;
  /** In which folder volumes of local-path classes are made; by default one beside the pods'. */
  readonly localPathFolder?: string | undefined;
}

/** The volumes of pods on this machine. Requests for one pod are executed in order. */
export interface Volumes {
  /** Idempotent: call it when the pod starts and whenever an object that it mounts has changed. */
  ensureVolumes(input: VolumeInput): Promise<VolumesReady>;
  /** Of the volumes that are there, writes those anew that are made of files. */
  refreshVolumes(input: VolumeInput): Promise<void>;
  /**
   * Makes a part of a volume ready to be mounted, and says where it is. The same again is the same, newly looked up.
   * Throws OutsideVolumeError for a path that leads out of the volume, and what the file system says.
   */
  ensureSubPath(request: SubPathRequest): Promise<string>;
  /**
   * Unmounts and removes everything of a pod. Never reaches through a mount or a link;
   * throws when something stays mounted. Gone is fine.
   */
  removePodVolumes(podUid: string): Promise<void>;
  /** Removes the volumes alone, for a pod that has ended while its object is still there. */
  releasePodVolumes(podUid: string): Promise<void>;
  /** The pods that have a folder here, wanted or not. */
  listPods(): Promise<string[]>;
  podDir(podUid: string): string;
  /** The pod's folder in the memory that the pods of the node share. */
  sharedDir(podUid: string): string;
  /**
   * Removes a volume of a local-path class with its data. Never reaches through a mount or a link; throws what people
   * should read. Gone is fine.
   */
  removeMadeFolder(path: string): Promise<void>;
}

export function createVolumes(podsDir: string, options: VolumesOptions = {}): Volumes {
  return new PodVolumes(podsDir, options);
}

class PodVolumes implements Volumes {
  readonly #podsDir: string;
  readonly #mounts: Mounts;
  readonly #canMount: boolean;
  readonly #warn: (message: string) => void;
  /** Volumes that were given to their group: as in Kubernetes once for a pod, not at each start of a container. */
  readonly #given = new Set<string>();
  /** What a volume in shared memory shows, by its path: no other program writes there. */
  readonly #shown = new Map<string, string>();
  readonly #shared: SharedMemory;
  readonly #inTurn = createTurns();
  readonly #made: MadeFolders;
  readonly removeMadeFolder: (path: string) => Promise<void>;

  constructor(podsDir: string, options: VolumesOptions = {}) {
    this.#podsDir = podsDir;
    this.#mounts = options.mounts ?? createMounts();
    this.#canMount = options.canMount ?? process.getuid?.() === 0;
    this.#warn = options.warn ?? (() => {});
    const nodeDir = dirname(podsDir);
    const machine = { mounts: this.#mounts, canMount: this.#canMount, warn: this.#warn };
    this.#shared = new SharedMemory({ ...machine, folder: join(nodeDir, 'memory') });
    this.#made = createMadeFolders({ nodeDir, root: options.localPathFolder ?? defaultRoot(nodeDir), mounts: this.#mounts });
    this.removeMadeFolder = this.#made.remove;
  }

  podDir(podUid: string): string {
    if (!isSafeName(podUid)) throw new Error(`pod uid "${podUid}" is not a name for a folder`);
    return join(this.#podsDir, podUid);
  }

  sharedDir(podUid: string): string {
    if (!isSafeName(podUid)) throw new Error(`pod uid "${podUid}" is not a name for a folder`);
    return this.#shared.podDir(podUid);
  }

  ensureVolumes(input: VolumeInput): Promise<VolumesReady> {
    return this.#inTurn(input.podDir, () => this.#ensureVolumes(input));
  }

  refreshVolumes(input: VolumeInput): Promise<void> {
    return this.#inTurn(input.podDir, () => this.#refreshVolumes(input));
  }

  ensureSubPath(request: SubPathRequest): Promise<string> {
    return this.#inTurn(request.podDir, () => {
      if (!this.#canMount) throw new Error('a part of a volume can only be mounted by an agent that runs as root');
      return ensureSubPath(request, this.#mounts);
    });
  }

  async removePodVolumes(podUid: string): Promise<void> {
    return this.#inTurn(this.podDir(podUid), () => this.#removeFrom(podUid, ['']));
  }

  async releasePodVolumes(podUid: string): Promise<void> {
    return this.#inTurn(this.podDir(podUid), () => this.#removeFrom(podUid, ['volumes', subPathFolder]));
  }

  async listPods(): Promise<string[]> {
    return [...new Set([...(await foldersIn(this.#podsDir)), ...(await this.#shared.listPods())])];
  }

  /**
   * In memory where possible; on a machine that does not let us mount, the data goes to disk, readable by root only.
   */
  async #ensureMemory(path: string, sizeBytes: number | undefined): Promise<void> {
    await ensureDirectory(path);
    const real = await realPathOf(path);
    if (!this.#canMount || (await this.#mounts.list()).some((mounted) => mounted === real)) return;
    try {
      await this.#mounts.mountTmpfs(path, sizeBytes);
    } catch (error) {
      this.#warn(`cannot mount memory at ${path}, using the disk: ${wordsOf(error)}`);
    }
  }

  /** The one place that changes the owner of volumes. A path of the machine (hostPath) keeps its owner. */
  async #giveOnce({ kind, name, path }: VolumeStep, { podDir: folder, ownership }: VolumeInput): Promise<void> {
    const key = join(folder, name);
    if (ownership === undefined || kind === 'host-path' || this.#given.has(key)) return;
    await ensureOwnership(path, ownership, kind === 'files');
    this.#given.add(key);
  }

  async #syncVolume(step: VolumeStep, ownership: Ownership | undefined): Promise<void> {
    if (step.kind === 'directory') return ensureDirectory(step.path);
    if (step.kind === 'memory') return this.#ensureMemory(step.path, step.sizeBytes);
    if (step.kind === 'host-path') return ensureHostPath(step.path, step.type);
    if (step.kind === 'made') return this.#made.ensure(step.path);
    if (step.kind === 'local') return ensureHostPath(step.path, 'Directory');
    const give = (folder: string) => (ownership === undefined ? undefined : ensureOwnership(folder, ownership, true));
    if (step.inMemory && step.path !== step.sharedPath) await this.#ensureMemory(step.path, undefined);
    await writeAtomically(step.path, step.files, give);
  }

  /**
   * Makes a volume that is to be in shared memory, and says where it is. One that an agent of before made, or that
   * found no room, is in a file system of its own: containers see it there.
   */
  async #syncShared(step: FilesStep, sharedPath: string, ownership: Ownership | undefined): Promise<VolumeStep> {
    if (await isMade(step.path)) {
      await this.#syncVolume(step, ownership);
      return step;
    }
    const shared = { ...step, path: sharedPath };
    const shown = digestOf(step.files);
    if (this.#shown.get(sharedPath) === shown) return shared;
    await this.#shared.ensure();
    try {
      await this.#syncVolume(shared, ownership);
    } catch (error) {
      if (!isFull(error) || (await isMade(sharedPath))) throw error;
      await rm(sharedPath, { recursive: true, force: true });
      this.#warn(`no room for ${sharedPath} in the memory that the pods share: it gets its own`);
      await this.#syncVolume(step, ownership);
      return step;
    }
    this.#shown.set(sharedPath, shown);
    return shared;
  }

  async #sync(step: VolumeStep, input: VolumeInput): Promise<VolumeStep> {
    const { ownership } = input;
    const { sharedPath } = step.kind === 'files' ? step : {};
    const isShared = step.kind === 'files' && sharedPath !== undefined;
    if (!isShared) await this.#syncVolume(step, ownership);
    const made = isShared ? await this.#syncShared(step, sharedPath, ownership) : step;
    await this.#giveOnce(made, input);
    return made;
  }

  async #ensureVolumes(input: VolumeInput): Promise<VolumesReady> {
    const plan = computeVolumePlan(input);
    const volumes = new Map<string, ReadyVolume>();
    const problems: VolumeProblem[] = [];
    for (const problem of plan.problems) {
      const { volume, madeAt, sharedPath } = problem;
      // As in Kubernetes: deleting an object does not keep the containers that have its files from starting again.
      const hostPath = await firstMade([madeAt, sharedPath]);
      if (hostPath !== undefined) volumes.set(volume, { hostPath, readOnly: true });
      else problems.push(problem);
    }
    for (const step of plan.steps) {
      try {
        const { path: hostPath } = await this.#sync(step, input);
        volumes.set(step.name, { hostPath, readOnly: step.readOnly });
      } catch (error) {
        problems.push({ volume: step.name, reason: 'failed', message: `volume "${step.name}": ${wordsOf(error)}` });
      }
    }
    return { volumes, problems };
  }

  async #refreshVolumes(input: VolumeInput): Promise<void> {
    const plan = computeVolumePlan(input);
    for (const step of plan.steps) {
      if (step.kind === 'files') await this.#sync(step, input);
    }
  }

  async #removeFrom(podUid: string, parts: readonly string[]): Promise<void> {
    const folder = this.podDir(podUid);
    await unmountBelow(this.#mounts, folder).catch((error: unknown) => {
      throw new Error(`remove volumes of pod ${podUid}: ${wordsOf(error)}`);
    });
    await this.#shared.remove(podUid);
    const shared = this.#shared.podDir(podUid) + sep;
    for (const path of this.#shown.keys()) if (path.startsWith(shared)) this.#shown.delete(path);
    // What else is kept of a pod that has ended (its last words) goes with its object.
    for (const part of parts) await removeTree(join(folder, part));
    for (const key of this.#given) if (key.startsWith(folder + sep)) this.#given.delete(key);
  }
}

type FilesStep = Extract<VolumeStep, { readonly kind: 'files' }>;

function digestOf(files: readonly VolumeFile[]): string {
  const hash = createHash('sha256');
  for (const { path, data, mode, uid } of files) hash.update(JSON.stringify([path, mode, uid, data.length])).update(data);
  return hash.digest('base64');
}

const isFull = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOSPC';

async function firstMade(paths: readonly (string | undefined)[]): Promise<string | undefined> {
  for (const path of paths) if (path !== undefined && (await isMade(path))) return path;
  return undefined;
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

// Containers run as any user: the folder is open to all, as in Kubernetes; the pod's folder above it is root's only.
async function ensureDirectory(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  await mkdir(path, { recursive: true, mode: 0o750 });
  await chmod(path, 0o777);
}
