import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { createMadeFolders, defaultRoot } from '../local-path/made-folders.ts';
import { isMade, isMissing, writeAtomically } from './atomic-files.ts';
import { ensureHostPath } from './host-path.ts';
import { createMounts, type Mounts, realPathOf, unmountBelow } from './mounts.ts';
import { ensureOwnership, type Ownership } from './ownership.ts';
import { ensureSubPath, type SubPathRequest, subPathFolder } from './sub-paths.ts';
import { createTurns } from './turns.ts';
import { computeVolumePlan, isSafeName, type VolumeInput, type VolumeProblem, type VolumeStep } from './volume-plan.ts';

/** A volume that is there: what to mount into containers. */
export interface ReadyVolume {
  readonly hostPath: string;
  /** Volumes made from objects are the agent's to write, and a claim may be for reading only: then containers get it read-only, whatever they ask for. */
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

/** A pod's volumes on this machine. What is asked for one pod is done in the order in which it was asked. */
export interface Volumes {
  /** Idempotent: call it when the pod starts and whenever an object that it mounts has changed. */
  ensureVolumes(input: VolumeInput): Promise<VolumesReady>;
  /** Of the volumes that are there, writes those anew that are made of files. */
  refreshVolumes(input: VolumeInput): Promise<void>;
  /**
   * Makes a part of a volume ready to be mounted, and says where it is. The same again is the same, newly looked up. Throws
   * OutsideVolumeError for a path that leads out of the volume, and what the file system says.
   */
  ensureSubPath(request: SubPathRequest): Promise<string>;
  /** Unmounts and removes everything of a pod. Never reaches through a mount or a link; throws when something stays mounted. Gone is fine. */
  removePodVolumes(podUid: string): Promise<void>;
  /** The same of the volumes alone, of a pod that has ended and whose object is still there. */
  releasePodVolumes(podUid: string): Promise<void>;
  /** The pods that have a folder here, wanted or not. */
  listPods(): Promise<string[]>;
  podDir(podUid: string): string;
  /** Removes a volume of a local-path class with its data. Never reaches through a mount or a link; throws what people should read. Gone is fine. */
  removeMadeFolder(path: string): Promise<void>;
}

export function createVolumes(podsDir: string, options: VolumesOptions = {}): Volumes {
  const mounts = options.mounts ?? createMounts();
  const canMount = options.canMount ?? process.getuid?.() === 0;
  const warn = options.warn ?? (() => {});
  /** Volumes that were given to their group: as in Kubernetes once for a pod, not at each start of a container. */
  const given = new Set<string>();
  const inTurn = createTurns();
  const nodeDir = dirname(podsDir);
  const made = createMadeFolders({ nodeDir, root: options.localPathFolder ?? defaultRoot(nodeDir), mounts });

  function podDir(podUid: string): string {
    if (!isSafeName(podUid)) throw new Error(`pod uid "${podUid}" is not a name for a folder`);
    return join(podsDir, podUid);
  }

  /** In memory where possible; on a machine that does not let us mount, the data goes to disk, readable by root only. */
  async function ensureMemory(path: string, sizeBytes: number | undefined): Promise<void> {
    await ensureDirectory(path);
    const real = await realPathOf(path);
    if (!canMount || (await mounts.list()).some((mounted) => mounted === real)) return;
    try {
      await mounts.mountTmpfs(path, sizeBytes);
    } catch (error) {
      warn(`cannot mount memory at ${path}, using the disk: ${wordsOf(error)}`);
    }
  }

  /** The one place where volumes change hands. A path of the machine (hostPath) never does. */
  async function giveOnce({ kind, name, path }: VolumeStep, { podDir: folder, ownership }: VolumeInput): Promise<void> {
    const key = join(folder, name);
    if (ownership === undefined || kind === 'host-path' || given.has(key)) return;
    await ensureOwnership(path, ownership, kind === 'files');
    given.add(key);
  }

  async function syncVolume(step: VolumeStep, ownership: Ownership | undefined): Promise<void> {
    if (step.kind === 'directory') return ensureDirectory(step.path);
    if (step.kind === 'memory') return ensureMemory(step.path, step.sizeBytes);
    if (step.kind === 'host-path') return ensureHostPath(step.path, step.type);
    if (step.kind === 'made') return made.ensure(step.path);
    if (step.kind === 'local') return ensureHostPath(step.path, 'Directory');
    if (step.inMemory) await ensureMemory(step.path, undefined);
    const give = (folder: string) => (ownership === undefined ? undefined : ensureOwnership(folder, ownership, true));
    await writeAtomically(step.path, step.files, give);
  }

  async function ensureVolumes(input: VolumeInput): Promise<VolumesReady> {
    const plan = computeVolumePlan(input);
    const volumes = new Map<string, ReadyVolume>();
    const problems: VolumeProblem[] = [];
    for (const problem of plan.problems) {
      const { volume, madeAt } = problem;
      // As in Kubernetes: deleting an object does not keep the containers that have its files from starting again.
      if (madeAt !== undefined && (await isMade(madeAt))) volumes.set(volume, { hostPath: madeAt, readOnly: true });
      else problems.push(problem);
    }
    for (const step of plan.steps) {
      try {
        await syncVolume(step, input.ownership);
        await giveOnce(step, input);
        volumes.set(step.name, { hostPath: step.path, readOnly: step.readOnly });
      } catch (error) {
        problems.push({ volume: step.name, reason: 'failed', message: `volume "${step.name}": ${wordsOf(error)}` });
      }
    }
    return { volumes, problems };
  }

  async function refreshVolumes(input: VolumeInput): Promise<void> {
    const plan = computeVolumePlan(input);
    for (const step of plan.steps) {
      if (step.kind !== 'files') continue;
      await syncVolume(step, input.ownership);
      await giveOnce(step, input);
    }
  }

  async function removeFrom(podUid: string, parts: readonly string[]): Promise<void> {
    const folder = podDir(podUid);
    await unmountBelow(mounts, folder).catch((error: unknown) => {
      throw new Error(`remove volumes of pod ${podUid}: ${wordsOf(error)}`);
    });
    // What else is kept of a pod that has ended (its last words) goes with its object.
    for (const part of parts) await rm(join(folder, part), { recursive: true, force: true });
    for (const key of given) if (key.startsWith(folder + sep)) given.delete(key);
  }

  return {
    podDir,
    removeMadeFolder: made.remove,
    ensureVolumes: (input) => inTurn(input.podDir, () => ensureVolumes(input)),
    refreshVolumes: (input) => inTurn(input.podDir, () => refreshVolumes(input)),
    ensureSubPath: (request) =>
      inTurn(request.podDir, () => {
        if (!canMount) throw new Error('a part of a volume can only be mounted by an agent that runs as root');
        return ensureSubPath(request, mounts);
      }),
    removePodVolumes: async (podUid) => inTurn(podDir(podUid), () => removeFrom(podUid, [''])),
    releasePodVolumes: async (podUid) => inTurn(podDir(podUid), () => removeFrom(podUid, ['volumes', subPathFolder])),
    async listPods() {
      try {
        const entries = await readdir(podsDir, { withFileTypes: true });
        return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
      } catch (error) {
        if (isMissing(error)) return [];
        throw error;
      }
    },
  };
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

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
