import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isMissing, writeAtomically } from './atomic-files.ts';
import { ensureHostPath } from './host-path.ts';
import { createMounts, type Mounts } from './mounts.ts';
import { computeVolumePlan, isSafeName, type VolumeInput, type VolumeProblem, type VolumeStep } from './volume-plan.ts';

/** A volume that is there: what to mount into containers. */
export interface ReadyVolume {
  readonly hostPath: string;
  /** Volumes made from objects are the agent's to write: containers get them read-only, whatever they ask for. */
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
}

/** A pod's volumes on this machine. Idempotent: call it when the pod starts and whenever an object that it mounts has changed. */
export interface Volumes {
  ensureVolumes(input: VolumeInput): Promise<VolumesReady>;
  /** Unmounts and removes everything of a pod. Never reaches through a mount or a link; throws when something stays mounted. Gone is fine. */
  removePodVolumes(podUid: string): Promise<void>;
  /** The pods that have a folder here, wanted or not. */
  listPods(): Promise<string[]>;
  podDir(podUid: string): string;
}

export function createVolumes(podsDir: string, options: VolumesOptions = {}): Volumes {
  const mounts = options.mounts ?? createMounts();
  const canMount = options.canMount ?? process.getuid?.() === 0;
  const warn = options.warn ?? (() => {});

  function podDir(podUid: string): string {
    if (!isSafeName(podUid)) throw new Error(`pod uid "${podUid}" is not a name for a folder`);
    return join(podsDir, podUid);
  }

  /** In memory where possible; on a machine that does not let us mount, the data goes to disk, readable by root only. */
  async function ensureMemory(path: string, sizeBytes: number | undefined): Promise<void> {
    await ensureDirectory(path);
    if (!canMount || (await mounts.list()).includes(path)) return;
    try {
      await mounts.mountTmpfs(path, sizeBytes);
    } catch (error) {
      warn(`cannot mount memory at ${path}, using the disk: ${wordsOf(error)}`);
    }
  }

  async function syncVolume(step: VolumeStep): Promise<void> {
    if (step.kind === 'directory') return ensureDirectory(step.path);
    if (step.kind === 'memory') return ensureMemory(step.path, step.sizeBytes);
    if (step.kind === 'host-path') return ensureHostPath(step.path, step.type);
    if (step.inMemory) await ensureMemory(step.path, undefined);
    await writeAtomically(step.path, step.files);
  }

  return {
    podDir,
    async ensureVolumes(input) {
      const plan = computeVolumePlan(input);
      const volumes = new Map<string, ReadyVolume>();
      const problems = [...plan.problems];
      for (const step of plan.steps) {
        try {
          await syncVolume(step);
          volumes.set(step.name, { hostPath: step.path, readOnly: step.kind === 'files' });
        } catch (error) {
          problems.push({ volume: step.name, reason: 'failed', message: `volume "${step.name}": ${wordsOf(error)}` });
        }
      }
      return { volumes, problems };
    },
    async removePodVolumes(podUid) {
      const folder = podDir(podUid);
      const inside = async () => (await mounts.list()).filter((path) => path === folder || path.startsWith(folder + sep));
      // The last mounted may stand inside of an earlier one.
      for (const path of (await inside()).reverse()) await mounts.unmount(path);
      const left = await inside();
      if (left.length > 0) throw new Error(`remove volumes of pod ${podUid}: ${left[0]} is still mounted`);
      await rm(folder, { recursive: true, force: true });
    },
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
