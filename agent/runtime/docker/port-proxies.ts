import { readdir, readFile } from 'node:fs/promises';

/** A process of an engine that listens on a host port for a container. */
export interface PortProxy {
  readonly pid: number;
  /** The name of its parent's program; empty when that has ended. */
  readonly parent: string;
  readonly hostPort: number;
  readonly protocol: string;
}

/** The port proxies of all engines of the machine, from /proc. */
export async function listPortProxies(proc = '/proc'): Promise<PortProxy[]> {
  const found: PortProxy[] = [];
  const textOf = (path: string): Promise<string> => readFile(`${proc}/${path}`, 'utf8').catch(() => '');
  const commandOf = async (pid: string): Promise<string> => (await textOf(`${pid}/comm`)).trim();
  for (const name of await readdir(proc)) {
    if (!/^\d+$/.test(name) || (await commandOf(name)) !== 'docker-proxy') continue;
    // What follows the command, which is in parentheses: the state and the parent.
    const parent = (await textOf(`${name}/stat`)).split(') ').at(-1)?.split(' ')[1];
    const words = (await textOf(`${name}/cmdline`)).split('\0');
    const flag = (word: string): string => words[words.indexOf(word) + 1] ?? '';
    found.push({
      pid: Number(name),
      parent: parent === undefined ? '' : await commandOf(parent),
      hostPort: Number(flag('-host-port')),
      protocol: flag('-proto'),
    });
  }
  return found;
}
