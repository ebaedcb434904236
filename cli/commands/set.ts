import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { collect } from '../generators/pairs.ts';
import { withSession } from '../session.ts';
import type { ResourcesFlags } from '../set/resources.ts';
import type { SetFlags, Setting } from '../set/run-set.ts';
import type { SetEnvFlags } from '../set/set-env.ts';
import { withManifestFlags, withWriteFlags } from '../write/write-options.ts';

export function registerSet(program: Command): void {
  const command = program
    .command('set')
    .description('Change images, variables, resources, accounts and selectors of objects')
    .usage('image|env|resources|serviceaccount|selector ...');
  registerImage(command);
  registerEnv(command);
  registerResources(command);
  registerServiceAccount(command);
  registerSelector(command);
}

/** The flags that all have in common. */
function withSetFlags(command: Command, { selectable = true } = {}): Command {
  if (selectable) command.option('-l, --selector <selector>', 'those with these labels');
  command
    .option('--all', 'all of the type in the namespace')
    .option('--local', 'change the manifests of -f and print them, without asking the server');
  return withWriteFlags(withManifestFlags(command, 'those that this manifest names', { wordsFollow: true }));
}

async function run(command: Command, words: readonly string[], flags: SetFlags, setting: Setting): Promise<void> {
  const { checkSetFlags, setAll, setLocally } = await import('../set/run-set.ts');
  checkSetFlags(words, flags);
  if (flags.local) await setLocally(flags, setting);
  else await withSession(command, (session) => setAll(session, words, flags, setting));
}

function registerImage(set: Command): void {
  const command = set
    .command('image')
    .description('the images of containers')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME..., then CONTAINER=IMAGE... (*=IMAGE: all containers)')
    .action(async (words: string[], flags: SetFlags, own: Command) => {
      const [{ imagePatch, parseImages }, { ofPodSpec }] = await Promise.all([
        import('../set/image.ts'),
        import('../set/run-set.ts'),
      ]);
      const { objects, images } = parseImages(words);
      await run(
        own,
        objects,
        flags,
        ofPodSpec('image updated', (podSpec) => imagePatch(podSpec, images)),
      );
    });
  withSetFlags(command);
}

function registerEnv(set: Command): void {
  const command = set
    .command('env')
    .description('the environment variables of containers')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME..., then KEY=VALUE... and KEY-...')
    .option('-c, --containers <pattern>', 'only containers with such names; * is any characters', '*')
    .option('-e, --env <key=value>', 'a variable, or - for lines of standard input; may be given several times', collect)
    .option('--from <source>', 'variables for the keys of configmap/NAME or secret/NAME')
    .option('--keys <keys>', 'with --from: only these, with commas between', collectWords)
    .option('--prefix <prefix>', 'before the names of the variables')
    .option('--list', 'show the variables, as they would be, and change nothing')
    .option('--resolve', 'with --list: the values that come from config maps, secrets and fields')
    .option('--overwrite', 'change variables that have another value, as by default')
    .option('--no-overwrite', 'refuse to change variables that have another value')
    .action(async (words: string[], flags: SetEnvFlags, own: Command) => {
      const { setEnv } = await import('../set/set-env.ts');
      await setEnv(own, words, flags);
    });
  withSetFlags(command);
}

function collectWords(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').filter(Boolean)];
}

function registerResources(set: Command): void {
  const command = set
    .command('resources')
    .description('the limits and requests of containers')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME...')
    .option('-c, --containers <pattern>', 'only containers with such names; * is any characters', '*')
    .option('--limits <amounts>', 'e.g. cpu=200m,memory=512Mi')
    .option('--requests <amounts>', 'e.g. cpu=100m,memory=256Mi')
    .action(async (words: string[], flags: SetFlags & ResourcesFlags & { readonly containers: string }, own: Command) => {
      const [{ parseResources, resourcesPatch }, { ofPodSpec }] = await Promise.all([
        import('../set/resources.ts'),
        import('../set/run-set.ts'),
      ]);
      const resources = parseResources(flags);
      await run(
        own,
        words,
        flags,
        ofPodSpec('resource requirements updated', (podSpec) => resourcesPatch(podSpec, flags.containers, resources)),
      );
    });
  withSetFlags(command);
}

function registerServiceAccount(set: Command): void {
  const command = set
    .command('serviceaccount')
    .alias('sa')
    .description('the service account of pods')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME..., then the account')
    .action(async (words: string[], flags: SetFlags, own: Command) => {
      const { ofPodSpec } = await import('../set/run-set.ts');
      const account = words.at(-1);
      if (account === undefined || account.includes('/')) throw badRequest('say which service account: its name comes last');
      await run(
        own,
        words.slice(0, -1),
        flags,
        ofPodSpec('serviceaccount updated', () => ({ serviceAccountName: account })),
      );
    });
  withSetFlags(command);
}

function registerSelector(set: Command): void {
  const command = set
    .command('selector')
    .description('the labels by which a Service finds its pods')
    .argument('[type...]', 'service NAME... or service/NAME..., then KEY=VALUE,...')
    .option('--resource-version <version>', 'only if the object has this version')
    .action(async (words: string[], flags: SetFlags & { readonly resourceVersion?: string }, own: Command) => {
      const { parseSelector, selectorPatch } = await import('../set/selector.ts');
      const labels = parseSelector(words.at(-1) ?? '');
      const objects = words.slice(0, -1);
      if (flags.resourceVersion && (flags.all || objects.length > 2 || objects.filter((each) => each.includes('/')).length > 1))
        throw badRequest('--resource-version is for one object');
      await run(own, objects, flags, {
        done: 'selector updated',
        patch: (kind) => selectorPatch(kind, labels, flags.resourceVersion),
      });
    });
  withSetFlags(command, { selectable: false });
}
