import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';

/** The version of this package, from its package.json. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version;
}

export function registerVersion(program: Command): void {
  program
    .command('version')
    .description('Show the versions of this program and of the server')
    .option('--client', 'only of this program; no server is asked')
    .addOption(new Option('-o, --output <format>', 'how to print, with all there is to say').choices(['json', 'yaml']))
    .addOption(new Option('--short', 'as without it: for scripts that were written for kubectl').hideHelp())
    .action(async (flags: { readonly client?: boolean; readonly output?: 'json' | 'yaml' }, command: Command) => {
      const { showVersions } = await import('../version/show-versions.ts');
      await showVersions(command, packageVersion(), flags);
    });
}
