import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../client/index.ts';
import type { ClusterFlags, CredentialFlags } from '../config/change-commands.ts';
import type { OutputFlags } from '../printers/formats.ts';
import { readObjectOutput, withOutputFlags } from '../printers/output-flags.ts';
import type { GlobalFlags } from '../session.ts';

/** Reads and writes the contexts file; no server is asked. */
export function registerConfig(program: Command): void {
  const config = program.command('config').description('Show and edit the configuration: clusters, users and contexts');
  registerGetContexts(config);
  registerView(config);
  config
    .command('current-context')
    .description('Show the name of the context in use')
    .action(async () => {
      const { readConfig } = await import('../../client/config/config.ts');
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
      const { useContext } = await import('../../client/config/config.ts');
      await useContext(name);
      process.stdout.write(`Switched to context "${name}".\n`);
    });
  registerSetContext(config);
  registerRenameContext(config);
  registerDeleteContext(config);
  registerParts(config);
  registerProperties(config);
}

function registerGetContexts(config: Command): void {
  config
    .command('get-contexts')
    .description('Show the contexts, the one in use with a star')
    .argument('[name...]', 'only these')
    .addOption(new Option('-o, --output <format>', 'names only').choices(['name']))
    .option('--no-headers', 'without headings')
    .action(async (names: string[], flags: { readonly output?: 'name'; readonly headers: boolean }) => {
      const { configPath, listContexts } = await import('../../client/config/config.ts');
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

interface ViewFlags extends GlobalFlags, OutputFlags {
  readonly minify?: boolean;
  readonly raw?: boolean;
  readonly flatten?: boolean;
}

function registerView(config: Command): void {
  const view = config
    .command('view')
    .description('Show the file, without keys and tokens')
    .option('--minify', 'only the context in use')
    .option('--raw', 'with keys and tokens')
    .option('--flatten', 'as --raw, with the content of the files that it names');
  withOutputFlags(view, 'how to print (default: yaml): ').action(async (_flags: unknown, command: Command) => {
    const flags = command.optsWithGlobals<ViewFlags>();
    const output = (await readObjectOutput(flags)) ?? { format: 'yaml' };
    if (output.format === 'name')
      throw badRequest('-o name is for objects; "berth config get-contexts -o name" names the contexts');
    const { readConfig } = await import('../../client/config/config.ts');
    const { emptyConfig } = await import('../../client/config/config-file.ts');
    const { minifyConfig, redactConfig } = await import('../config/redact.ts');
    const { printObjects } = await import('../printers/objects.ts');
    const { path, file = emptyConfig() } = await readConfig();
    const context = flags.context ?? file['current-context'];
    if (flags.context !== undefined && !file.contexts.some((entry) => entry.name === flags.context))
      throw badRequest(`${path} has no context "${flags.context}"`);
    if (flags.minify && context === undefined) throw badRequest(`${path} has no current-context, which --minify shows`);
    const chosen = flags.minify ? minifyConfig(file, context) : file;
    const { flattenConfig } = await import('../config/flatten.ts');
    const whole = flags.flatten ? flattenConfig(chosen, path) : chosen;
    const shown = flags.raw || flags.flatten ? whole : redactConfig(chosen);
    process.stdout.write(printObjects([JSON.parse(JSON.stringify(shown)) as JsonObject], output, { single: true }));
  });
}

function registerSetContext(config: Command): void {
  config
    .command('set-context')
    .description('Make a context, or change one: set-context --current --namespace=team')
    .argument('[name]', 'the context')
    .option('--current', 'the context in use')
    .option('--cluster <cluster>', 'the cluster that it uses')
    .option('--user <user>', 'the user that it uses')
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const { setContext } = await import('../config/change-commands.ts');
      const { current, cluster, user, namespace } = command.optsWithGlobals<GlobalFlags & SetContextFlags>();
      if (namespace === undefined && cluster === undefined && user === undefined)
        throw badRequest('give what the context is to have: --namespace, --cluster or --user');
      if ((name === undefined) === (current !== true)) throw badRequest('give the name of a context, or --current');
      await setContext(name, { cluster, user, namespace });
    });
}

interface SetContextFlags {
  readonly current?: boolean;
  readonly cluster?: string;
  readonly user?: string;
}

/** Clusters and users by themselves, as files of other tools have them. */
function registerParts(config: Command): void {
  for (const list of ['clusters', 'users'] as const)
    config
      .command(`get-${list}`)
      .description(`Show the names of the ${list}`)
      .action(async () => {
        const { readConfig } = await import('../../client/config/config.ts');
        const { file } = await readConfig();
        const names = (file?.[list] ?? []).map(({ name }) => `${name}\n`);
        if (names.length > 0) process.stdout.write(`NAME\n${names.join('')}`);
      });
  config
    .command('set-cluster')
    .description('Make a cluster, or change one')
    .argument('<cluster>', 'its name')
    .option('--server <address>', 'where its API server is: HOST:PORT')
    .option('--certificate-authority <file>', 'the authority that must have signed its certificate, PEM; the file is copied')
    .addOption(embedOption())
    .action(async (name: string, flags: ClusterFlags) => {
      await (await import('../config/change-commands.ts')).setCluster(name, flags);
    });
  config
    .command('set-credentials')
    .description('Make a user, or change one')
    .argument('<user>', 'the name')
    .option('--client-certificate <file>', 'the certificate, PEM; the file is copied')
    .option('--client-key <file>', 'the key of the certificate, PEM; the file is copied')
    .option('--token <token>', 'a token; other users of this machine may see it in the process list')
    .addOption(embedOption())
    .action(async (name: string, flags: CredentialFlags) => {
      await (await import('../config/change-commands.ts')).setCredentials(name, flags);
    });
  for (const [noun, list] of [
    ['cluster', 'clusters'],
    ['user', 'users'],
  ] as const)
    config
      .command(`delete-${noun}`)
      .description(`Forget a ${noun}; contexts that name it stay`)
      .argument(`<${noun}>`, 'its name')
      .action(async (name: string) => {
        await (await import('../config/change-commands.ts')).deleteEntry(list, name);
      });
}

/** Berth always does what it says. */
function embedOption(): Option {
  return new Option('--embed-certs', 'as without it: for scripts that were written for kubectl').hideHelp();
}

function registerProperties(config: Command): void {
  config
    .command('set')
    .description('Set a value of the file: set contexts.far.namespace team')
    .argument('<property>', 'current-context, or clusters.NAME.server, users.NAME.token, contexts.NAME.namespace ...')
    .argument('<value>', 'what it becomes; of a "-data" field base64')
    .option('--set-raw-bytes', 'the value of a "-data" field is no base64 yet')
    .action(async (property: string, value: string, flags: { readonly setRawBytes?: boolean }) => {
      await (await import('../config/change-commands.ts')).set(property, value, flags.setRawBytes === true);
    });
  config
    .command('unset')
    .description('Take a value out of the file: unset current-context, unset contexts.far.namespace, unset users.ann')
    .argument('<property>', 'as of set, or a whole entry')
    .action(async (property: string) => {
      await (await import('../config/change-commands.ts')).unset(property);
    });
}

function registerRenameContext(config: Command): void {
  config
    .command('rename-context')
    .description('Give a context another name')
    .argument('<name>', 'the context')
    .argument('<new-name>', 'what it is called from now on')
    .action(async (from: string, to: string) => {
      await (await import('../config/change-commands.ts')).renameContext(from, to);
    });
}

function registerDeleteContext(config: Command): void {
  config
    .command('delete-context')
    .description('Forget a context, with its cluster and user when no other uses them')
    .argument('<name>', 'the context')
    .action(async (name: string) => {
      const { configPath, listContexts, removeContext } = await import('../../client/config/config.ts');
      const context = (await listContexts()).find((each) => each.name === name);
      if (context === undefined) throw badRequest(`cannot delete context "${name}": ${configPath()} has no such context`);
      await removeContext(name);
      if (context.current)
        process.stderr.write('warning: this removed your active context; choose another with "berth config use-context NAME"\n');
      process.stdout.write(`deleted context ${name} from ${configPath()}\n`);
    });
}
