import { basename } from 'node:path';
import type { Command } from 'commander';
import { ExitWith } from '../program/failure.ts';

export function registerPlugin(program: Command): void {
  const plugin = program
    .command('plugin')
    .description('Plugins: "berth foo" runs berth-foo from the PATH, unless foo is a built-in command');
  plugin
    .command('list')
    .description('Show the plugins of the PATH, and what keeps some from being run')
    .option('--name-only', 'only names, without folders')
    .action(async ({ nameOnly = false }: { readonly nameOnly?: boolean }) => await list(program, nameOnly));
}

async function list(program: Command, nameOnly: boolean): Promise<void> {
  const { listPlugins } = await import('../plugins/find-plugins.ts');
  const builtIn = [...program.commands.map((command) => command.name()), 'help'];
  const plugins = listPlugins(builtIn, process.env, (folder, reason) => {
    process.stderr.write(`Unable to read directory "${folder}" from your PATH: ${reason}. Skipping...\n`);
  });
  if (plugins.length === 0) throw new ExitWith(1, 'unable to find any berth plugins in your PATH');
  process.stdout.write('The following compatible plugins are available:\n\n');
  for (const { path, warning } of plugins) {
    process.stdout.write(`${nameOnly ? basename(path) : path}\n`);
    if (warning !== undefined) process.stderr.write(`  - ${warning}\n`);
  }
  const warnings = plugins.filter(({ warning }) => warning !== undefined).length;
  if (warnings > 0)
    throw new ExitWith(1, warnings === 1 ? 'one plugin warning was found' : `${warnings} plugin warnings were found`);
}
