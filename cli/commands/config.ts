import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { GlobalFlags } from '../session.ts';

/** Reads and writes the contexts file; no server is asked. */
export function registerConfig(program: Command): void {
  const config = program.command('config').description('Show and choose the clusters that this machine knows');
  registerGetContexts(config);
  registerView(config);
  config
    .command('current-context')
    .description('Show the name of the context in use')
    .action(async () => {
      const { readConfig } = await import('../../client/index.ts');
      const { path, file } = await readConfig();
      const current = file?.['current-context'];
      if (!current) throw badRequest(`${path} has no current-context; choose one with "berth config use-context NAME"`);
      process.stdout.write(`${current}\n`);
    });
  config
    .command('use-context')
    .aliases(['use'])
    .description('Make a context the one in use')
    .argument('<name>', 'the context')
    .action(async (name: string) => {
      const { useContext } = await import('../../client/index.ts');
      await useContext(name);
      process.stdout.write(`Switched to context "${name}".\n`);
    });
  registerSetContext(config);
  registerDeleteContext(config);
}

function registerGetContexts(config: Command): void {
  config
    .command('get-contexts')
    .description('Show the contexts, the one in use with a star')
    .argument('[name...]', 'only these')
    .addOption(new Option('-o, --output <format>', 'names only').choices(['name']))
    .option('--no-headers', 'without headings')
    .action(async (names: string[], flags: { readonly output?: 'name'; readonly headers: boolean }) => {
      const { configPath, listContexts } = await import('../../client/index.ts');
      const { plainTable } = await import('../printers/plain-table.ts');
      const all = await listContexts();
      const missing = names.find((name) => !all.some((context) => context.name === name));
      if (missing !== undefined) throw badRequest(`${configPath()} has no context "${missing}"`);
      const shown = names.length === 0 ? all : all.filter((context) => names.includes(context.name));
      if (flags.output === 'name') {
        process.stdout.write(shown.map(({ name }) => `${name}\n`).join(''));
        return;
      }
      const rows = shown.map(({ current, name, cluster, user, namespace }) => [
        current ? '*' : '',
        name,
        cluster,
        user,
        namespace,
      ]);
      process.stdout.write(plainTable(flags.headers ? ['CURRENT', 'NAME', 'CLUSTER', 'AUTHINFO', 'NAMESPACE'] : undefined, rows));
    });
}

interface ViewFlags extends GlobalFlags {
  readonly minify?: boolean;
  readonly raw?: boolean;
  readonly output: 'yaml' | 'json';
}

function registerView(config: Command): void {
  config
    .command('view')
    .description('Show the file, without keys and tokens')
    .option('--minify', 'only the context in use')
    .option('--raw', 'with keys and tokens')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['yaml', 'json']).default('yaml'))
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ViewFlags>();
      const { readConfig, emptyConfig } = await import('../../client/index.ts');
      const { minifyConfig, redactConfig } = await import('../config/redact.ts');
      const { stringify } = await import('yaml');
      const { path, file = emptyConfig() } = await readConfig();
      const context = flags.context ?? file['current-context'];
      if (flags.context !== undefined && !file.contexts.some((entry) => entry.name === flags.context))
        throw badRequest(`${path} has no context "${flags.context}"`);
      const chosen = flags.minify ? minifyConfig(file, context) : file;
      const shown = flags.raw ? chosen : redactConfig(chosen);
      process.stdout.write(flags.output === 'json' ? `${JSON.stringify(shown, null, 4)}\n` : stringify(shown, { lineWidth: 0 }));
    });
}

function registerSetContext(config: Command): void {
  config
    .command('set-context')
    .description('Change the namespace of a context: set-context --current --namespace=team')
    .argument('[name]', 'the context')
    .option('--current', 'the context in use')
    .action(async (name: string | undefined, flags: { readonly current?: boolean }, command: Command) => {
      const { readConfig, setContextNamespace } = await import('../../client/index.ts');
      const { namespace } = command.optsWithGlobals<GlobalFlags>();
      if (namespace === undefined) throw badRequest('give the namespace that the context is to have with --namespace');
      if ((name === undefined) === (flags.current !== true)) throw badRequest('give the name of a context, or --current');
      const { path, file } = await readConfig();
      const chosen = name ?? file?.['current-context'];
      if (!chosen) throw badRequest(`${path} has no current-context; choose one with "berth config use-context NAME"`);
      await setContextNamespace(chosen, namespace);
      process.stdout.write(`Context "${chosen}" modified.\n`);
    });
}

function registerDeleteContext(config: Command): void {
  config
    .command('delete-context')
    .description('Forget a context, with its cluster and user when no other uses them')
    .argument('<name>', 'the context')
    .action(async (name: string) => {
      const { configPath, listContexts, removeContext } = await import('../../client/index.ts');
      const context = (await listContexts()).find((each) => each.name === name);
      if (context === undefined) throw badRequest(`cannot delete context "${name}": ${configPath()} has no such context`);
      await removeContext(name);
      if (context.current)
        process.stderr.write('warning: this removed your active context; choose another with "berth config use-context NAME"\n');
      process.stdout.write(`deleted context ${name} from ${configPath()}\n`);
    });
}
