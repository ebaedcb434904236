import { type Command, Option } from 'commander';
import { collect } from '../generators/pairs.ts';
import type { RunFlags } from '../generators/pod.ts';
import { withSession } from '../session.ts';
import { type WriteFlags, withWriteFlags } from '../write-options.ts';

export function registerRun(program: Command): void {
  const command = program
    .command('run')
    .description('Run an image in a pod of its own')
    .argument('<name>', 'the name of the pod')
    .argument('[words...]', 'behind --: arguments of the image, or with --command the command')
    .requiredOption('--image <image>', 'the image')
    .option('--port <number>', 'a port that the container listens on')
    .option('-e, --env <key=value>', 'an environment variable; may be given several times', collect)
    .option('--labels <key=value,...>', 'labels instead of run=NAME', collect)
    .option('--annotations <key=value>', 'an annotation; may be given several times', collect)
    .addOption(
      new Option('--restart <policy>', 'when to start it again').choices(['Always', 'OnFailure', 'Never']).default('Always'),
    )
    .addOption(new Option('--image-pull-policy <policy>', 'when to pull').choices(['Always', 'IfNotPresent', 'Never']))
    .option('--privileged', 'with all privileges of the machine')
    .option('--command', 'the words behind -- are the command, not its arguments')
    .action(async (name: string, words: string[], flags: RunFlags & WriteFlags, command: Command) => {
      const { podObject } = await import('../generators/pod.ts');
      const { createGenerated } = await import('../write-object.ts');
      const object = podObject(name, words, flags);
      await withSession(command, (session) => createGenerated(session, object, flags, 'berth-run'));
    });
  withWriteFlags(command);
}
