import { readdir, readFile, readlink } from 'node:fs/promises';
import type { PortHolder } from './facts.ts';

/** The process that listens on a TCP port, from the sockets in /proc; undefined without permission to see it. */
export async function findPortHolder(port: number, proc = '/proc'): Promise<PortHolder | undefined> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => textOf(`${proc}/net/${name}`)));
  const links = new Set(tables.flatMap((table) => parseListeners(table, port)).map((inode) => `socket:[${inode}]`));
  if (links.size === 0) return undefined;
  for (const name of await namesIn(proc)) {
    if (!/^\d+$/.test(name)) continue;
    for (const descriptor of await namesIn(`${proc}/${name}/fd`)) {
      if (!links.has(await linkOf(`${proc}/${name}/fd/${descriptor}`))) continue;
      const words = (await textOf(`${proc}/${name}/cmdline`)).split('\0').filter(Boolean);
      return {
        pid: Number(name),
        command: words.slice(0, 3).join(' ').slice(0, 80) || (await textOf(`${proc}/${name}/comm`)).trim(),
      };
    }
  }
  return undefined;
}

const listening = '0A';

/** The inodes of the sockets that listen on the port: the tenth word of their lines. */
export function parseListeners(table: string, port: number): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => words[1]?.endsWith(end) && words[3] === listening)
    .map((words) => words[9] ?? '');
}

// What belongs to others, or has just ended, is passed over: that is the answer "not known".
const textOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
const namesIn = (path: string): Promise<string[]> => readdir(path).catch(() => []);
const linkOf = (path: string): Promise<string> => readlink(path).catch(() => '');
