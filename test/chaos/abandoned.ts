import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeNetwork } from '../../agent/network.ts';
import { forceRemove, run } from '../e2e/installation.ts';
import { unmountBelow } from '../e2e/private-engine.ts';

const folderName = /^berth-chaos-.+-(\d+)-[^-]+$/;
const nodeName = /^chaos-[a-z]+-(\d+)(-[a-z]+)?$/;

/** A folder of a run's own, for the data of Berth. Its name says whose it is. */
export const createRunFolder = (name: string): Promise<string> => mkdtemp(join(tmpdir(), `berth-chaos-${name}-${process.pid}-`));

/**
 * Ends and removes what runs have left that were killed themselves: servers and agents, containers of this machine's
 * engine, folders and what is mounted there. Nodes and folders are named after the process of their run.
 */
export async function removeAbandoned(): Promise<void> {
  const folders = readdirSync(tmpdir()).filter((name) => isAbandoned(folderName, name));
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (folders.some((folder) => commandOf(pid).includes(`/${folder}`))) end(Number(pid));
  }
  const format = '{{.ID}} {{.Label "io.berth.node"}}';
  const { stdout } = await run('docker', ['ps', '-a', '--filter', 'label=io.berth.node', '--format', format]);
  const containers = stdout.split('\n').flatMap((line) => {
    const [id = '', node = ''] = line.split(' ');
    return isAbandoned(nodeName, node) ? [id] : [];
  });
  await forceRemove(containers);
  for (const folder of folders.map((name) => join(tmpdir(), name))) {
    await removeNetworks(folder);
    await unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of the nodes that agents were started for with this data directory: what is left keeps others from the range. */
export async function removeNetworks(dataDir: string): Promise<void> {
  const nodes = join(dataDir, 'node');
  for (const name of existsSync(nodes) ? readdirSync(nodes) : []) await removeNetwork(dataDir, name, join(nodes, name));
}

function isAbandoned(form: RegExp, name: string): boolean {
  const pid = form.exec(name)?.[1];
  return pid !== undefined && !existsSync(`/proc/${pid}`);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended by itself meanwhile.
  }
}
