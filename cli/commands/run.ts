import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { collect } from '../generators/pairs.ts';
import { overrideTypes } from '../run/override-types.ts';
import type { RunCommandFlags } from '../run/run-flags.ts';
import { withSession } from '../session.ts';
import { withWriteFlags } from '../write/write-options.ts';

export function registerRun(program: Command): void {
  const command = program
    .command('run')
    .description('Run an image in a new pod')
    .argument('<name>', 'the name of the pod')
    .argument('[words...]', 'behind --: arguments of the image, or with --command the command')
    .option('--image <image>', 'the image (required)')
    .option('-i, --stdin', "keep its standard input open and connect it to the command's")
    .option('-t, --tty', 'with a terminal')
    .option('--attach', 'join the container when it runs; with -i that is so anyway')
    .option('--no-attach', 'only create the pod')
    .option('--rm', 'delete the pod when the container has ended or this command is interrupted; only for attached containers')
    .option('--leave-stdin-open', 'with -i: the input of the container stays open after the first client')
    .option('--pod-running-timeout <duration>', 'wait so long until the pod runs, or has ended', '1m0s')
    .option('-q, --quiet', 'print only what the container writes')
    .option('--port <number>', 'a port that the container listens on')
    .option('-e, --env <key=value>', 'an environment variable; may be given several times', collect)
    .option('-l, --labels <key=value,...>', 'labels instead of run=NAME', collect)
    .option('--annotations <key=value>', 'an annotation; may be given several times', collect)
    .addOption(
      new Option('--restart <policy>', 'when to start it again; only with the others is its exit code that of this command')
        .choices(['Always', 'OnFailure', 'Never'])
        .default('Always'),
    )
    .addOption(new Option('--image-pull-policy <policy>', 'when to pull').choices(['Always', 'IfNotPresent', 'Never']))
    .option('--privileged', 'with all privileges of the machine')
    .option('--command', 'the words behind -- are the command, not its arguments')
    .option('--overrides <json>', 'a patch of the pod, in JSON')
    .addOption(
      new Option('--override-type <type>', 'merge replaces lists, strategic merges them by key, json is a list of operations')
        .choices(overrideTypes)
        .default('merge'),
    )
    .action(async (name: string, words: string[], flags: RunCommandFlags, command: Command) => run(name, words, flags, command));
  withWriteFlags(command);
}

async function run(name: string, words: readonly string[], flags: RunCommandFlags, command: Command): Promise<void> {
  if (flags.image === undefined) throw badRequest('name the image: "berth run NAME --image=IMAGE"');
  const [{ podObject }, { decideAttach }, { createGenerated, createObject }] = await Promise.all([
    import('../generators/pod.ts'),
    import('../run/run-flags.ts'),
    import('../write/write-object.ts'),
  ]);
  const isAttached = decideAttach(flags);
  let object = podObject(name, words, flags);
  if (flags.overrides !== undefined) {
    const { override } = await import('../run/overrides.ts');
    object = override(kindNamed('Pod').message, object, flags.overrides, flags.overrideType);
  }
  await withSession(command, async (session) => {
    if (!isAttached) return await createGenerated(session, object, flags, 'berth-run');
    const { runAttached } = await import('../run/run-attached.ts');
    await runAttached(session.client, () => createObject(session, object, flags, 'berth-run'), flags);
  });
}
