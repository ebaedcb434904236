import { open, readlink, realpath } from 'node:fs/promises';
import { MountTable, parseMountInfo } from '../../machine/mount-table.ts';
import { createEngineView, createStoppedView, createUnknownView, type EngineMount, type EngineView } from './engine-view.ts';
import { isOf } from './kill-command.ts';
import type { Inspection } from './observe.ts';

/** Some ten thousand mounts. The kernel allows more to a container that may mount. */
const mostBytes = 4 * 1024 * 1024;

/** Reads what is mounted in a container, from the machine's side; nothing of the container's is opened. */
export async function readEngineView(inspection: Inspection, proc = '/proc'): Promise<EngineView> {
  const { Id, State } = inspection;
  const mounts = await engineMountsOf(inspection);
  if (State.Pid === 0) return createStoppedView(mounts, pathsOf(inspection, ['tmpfs']));
  try {
    const container = await readTable(`${proc}/${State.Pid}/mountinfo`);
    // It tells mount points from the process's own root directory.
    const root = await readlink(`${proc}/${State.Pid}/root`);
    if (root !== '/') return createUnknownView(`its main process has changed its root directory to "${root}"`);
    // Afterwards: process ids are used again.
    if (!isOf(proc, State.Pid, Id))
      return createUnknownView(`process ${State.Pid} of this machine is not its main process: the engine is on another machine`);
    return createEngineView(container, await readTable(`${proc}/self/mountinfo`), mounts);
  } catch (error) {
    return createUnknownView(error instanceof Error ? error.message : String(error));
  }
}

async function readTable(path: string): Promise<MountTable> {
  return new MountTable(parseMountInfo(await readBounded(path)));
}

async function readBounded(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of file.createReadStream({ autoClose: false })) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > mostBytes) throw new Error(`${path} has more than ${mostBytes} bytes`);
    }
    return Buffer.concat(pieces).toString('utf8');
  } finally {
    await file.close();
  }
}

type MountOf = NonNullable<Inspection['Mounts']>[number];

function pathsOf({ Mounts }: Inspection, types: readonly string[]): string[] {
  const wanted = ({ Type = '' }: MountOf): boolean => types.includes(Type);
  return (Mounts ?? []).filter(wanted).flatMap(({ Destination }) => Destination ?? []);
}

/** The volumes, and the three files that the engine mounts for the network where no volume is in their place. */
async function engineMountsOf(inspection: Inspection): Promise<EngineMount[]> {
  const { Mounts, HostsPath, HostnamePath, ResolvConfPath } = inspection;
  const volumes = (Mounts ?? []).filter(({ Type }) => Type === 'bind' || Type === 'volume');
  const files: MountOf[] = [
    { Destination: '/etc/hosts', Source: HostsPath ?? '' },
    { Destination: '/etc/hostname', Source: HostnamePath ?? '' },
    { Destination: '/etc/resolv.conf', Source: ResolvConfPath ?? '' },
  ];
  const named = new Set(volumes.map(({ Destination }) => Destination));
  const all = [...volumes, ...files.filter(({ Destination, Source }) => Source !== '' && !named.has(Destination))];
  return Promise.all(
    all.map(async ({ Destination = '', Source = '' }) => ({
      destination: Destination,
      source: Source === '' ? undefined : await realpath(Source).catch(() => undefined),
    })),
  );
}
