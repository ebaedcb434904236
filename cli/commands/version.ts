import { readFileSync } from 'node:fs';
import type { Command } from 'commander';

/** The version of this package, from its package.json. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version;
}

export function registerVersion(program: Command): void {
  program
    .command('version')
    .description('Show the version of this program')
    .action(() => {
      process.stdout.write(`berth ${packageVersion()} (node ${process.versions.node})\n`);
    });
}
