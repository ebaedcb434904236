import { chmod, type FileHandle, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../api/generated/types.ts';
import { computeEtcHosts } from '../config/etc-hosts.ts';
import { type ClusterNames, computeResolvConf, parseResolvConf, type Resolver } from '../config/resolv-conf.ts';
import type { Mount } from '../runtime/runtime.ts';
import { isMissing } from './atomic-files.ts';
import { createTurns } from './turns.ts';

/**
 * The files that a pod's containers share beside its volumes: /etc/hosts and, outside of the machine's network or where
 * the pod has name servers of its own, /etc/resolv.conf. The engine has none for a network that it does not know.
 */
export interface EtcFiles {
  /**
   * Writes what differs, and says where it is to be mounted. Called for each container that starts;
   * one at a time for a pod.
   */
  ensure(
    pod: Pod,
    podIP: string | undefined,
  ): Promise<{ readonly mounts: readonly Mount[]; readonly problems: readonly string[] }>;
}

export interface EtcFilesOptions {
  readonly podDir: (podUid: string) => string;
  /** Where names of the cluster are answered; absent: nowhere. */
  readonly clusterNames?: () => ClusterNames | undefined;
  /** The machine's files; by default those in /etc. */
  readonly etc?: string;
  /** The resolv.conf with the upstream name servers of systemd-resolved. */
  readonly systemdResolvConf?: string;
}

/** The files of a pod's containers in /etc, below the pod's folder. */
export const etcFiles = (podDir: string) => ({
  hosts: join(podDir, 'etc-hosts'),
  'resolv.conf': join(podDir, 'etc-resolv.conf'),
});

export function createEtcFiles({
  podDir,
  clusterNames = () => undefined,
  etc = '/etc',
  systemdResolvConf = '/run/systemd/resolve/resolv.conf',
}: EtcFilesOptions): EtcFiles {
  const inTurn = createTurns();

  async function machineResolver(): Promise<Resolver> {
    const found = parseResolvConf(await readOrEmpty(join(etc, 'resolv.conf')));
    const isStub = found.nameservers.length > 0 && found.nameservers.every((server) => server === '127.0.0.53');
    return isStub ? parseResolvConf(await readOrEmpty(systemdResolvConf)) : found;
  }

  async function sync(pod: Pod, podIP: string | undefined) {
    const machineHosts = pod.spec?.hostNetwork === true ? await readOrEmpty(join(etc, 'hosts')) : '';
    const hosts = computeEtcHosts(pod, podIP, machineHosts);
    const resolver = computeResolvConf(pod, await machineResolver(), clusterNames());
    const mounts: Mount[] = [];
    const folder = podDir(pod.metadata?.uid ?? '');
    for (const [name, text] of [
      ['hosts', hosts],
      ['resolv.conf', resolver?.text],
    ] as const) {
      if (text === undefined) continue;
      const hostPath = etcFiles(folder)[name];
      await ensureFile(folder, hostPath, text);
      mounts.push({ hostPath, containerPath: `/etc/${name}`, readOnly: false, propagation: 'rprivate' });
    }
    return { mounts, problems: resolver?.problems ?? [] };
  }

  return {
    ensure: (pod, podIP) => inTurn(pod.metadata?.uid ?? '', () => sync(pod, podIP)),
  };
}

/**
 * In place: containers that run have the file itself, not its name. What containers wrote into it is replaced,
 * as in Kubernetes.
 */
async function ensureFile(folder: string, path: string, text: string): Promise<void> {
  if (await holds(path, text)) return;
  await mkdir(folder, { recursive: true, mode: 0o750 });
  await writeFile(path, text);
  await chmod(path, 0o644);
}

/** A container may make it larger than memory, at any moment: no more is read than there should be. */
async function holds(path: string, text: string): Promise<boolean> {
  const wanted = Buffer.from(text);
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted.length + 1));
    return buffer.subarray(0, bytesRead).equals(wanted);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  } finally {
    await file?.close();
  }
}

async function readOrEmpty(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return '';
    throw error;
  }
}
