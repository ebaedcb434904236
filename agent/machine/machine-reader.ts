import { statSync } from 'node:fs';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { createContainerReader } from './cgroups/container-reader.ts';
import { createFolderSizes } from './disk-usage.ts';
import { cadvisorPage } from './exposition/cadvisor.ts';
import { resourcePage } from './exposition/resource.ts';
import { type PodSnapshot, readPods } from './exposition/snapshot.ts';
import { physicalDisks, readMachineFigures } from './machine-usage.ts';
import { readSmallFile } from './small-file.ts';
import { createUsageHistory, type UsageHistory } from './usage-history.ts';
import { createUsageReader, type UsageReader, type UsageReaderOptions } from './usage-reader.ts';
import { wholeMachine } from './whole-machine.ts';

/** All that is measured of this machine: samples, their history, and pages for Prometheus, from the same files. */
export interface MachineReader extends UsageReader {
  readonly history: UsageHistory;
  /** Made anew for each call; calls at the same time share one. Never throws. */
  cadvisor(containers: readonly ObservedContainer[]): Promise<string>;
  resource(containers: readonly ObservedContainer[]): Promise<string>;
}

export type MachineReaderOptions = Pick<UsageReaderOptions, 'nodeName' | 'dataDir' | 'root' | 'now'>;

export function createMachineReader(options: MachineReaderOptions): MachineReader {
  const { dataDir, root = '/', now = () => new Date() } = options;
  const readFile = readSmallFile;
  const nowMs = (): number => now().getTime();
  const cgroups = createContainerReader(root, readFile);
  const layers = createFolderSizes(nowMs);
  const history = createUsageHistory();
  const usage = createUsageReader({ ...options, readFile, cgroups, history });
  const read = (containers: readonly ObservedContainer[], all: boolean): Promise<PodSnapshot[]> =>
    readPods({ root, readFile, cgroups, layers, all }, containers);
  const machineFigures = () => readMachineFigures(root, dataDir, readFile);

  async function makeCadvisor(containers: readonly ObservedContainer[]): Promise<string> {
    await layers.refresh(writableLayers(containers));
    const [machine, pods] = [await machineFigures(), await read(containers, true)];
    const disks = physicalDisks(root, machine.disks);
    return cadvisorPage({
      machine,
      whole: wholeMachine(machine, cgroups.readWhole()),
      disks,
      dataDevice: deviceOf(dataDir),
      pods,
      nowMs: nowMs(),
    });
  }

  return {
    sample: (containers) => usage.sample(containers),
    history,
    cadvisor: shared(makeCadvisor),
    resource: shared(async (containers) => resourcePage(await machineFigures(), await read(containers, false))),
  };
}

/** Concurrent readers share one answer. */
function shared<A>(make: (argument: A) => Promise<string>): (argument: A) => Promise<string> {
  let current: Promise<string> | undefined;
  return (argument) => {
    current ??= make(argument).finally(() => {
      current = undefined;
    });
    return current;
  };
}

function writableLayers(containers: readonly ObservedContainer[]): Map<string, string> {
  const folders = new Map<string, string>();
  for (const { id, state, files } of containers)
    if (state === 'running' && files?.writableLayer !== undefined) folders.set(id, files.writableLayer);
  return folders;
}

/** The block device below a path, "8:1". */
function deviceOf(path: string): string | undefined {
  const { dev } = statSync(path, { throwIfNoEntry: false }) ?? {};
  // As glibc takes device numbers apart.
  return dev === undefined ? undefined : `${(dev >>> 8) & 0xfff}:${(dev & 0xff) | ((dev >>> 12) & 0xfff00)}`;
}
