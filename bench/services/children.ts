import { readdirSync, readFileSync } from 'node:fs';

/** Process ids of this process's children that run a program of this name. */
export function childrenNamed(name: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        const [, program, parent] = /\((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return program === name && Number(parent) === process.pid;
      } catch {
        // Ended meanwhile.
        return false;
      }
    });
}
