import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { JsonObject } from '../../client/index.ts';
import { parseDuration } from '../args/duration.ts';
import type { Target, TargetFlags } from '../get/targets.ts';
import type { OutputFlags } from '../printers/formats.ts';
import { readObjectOutput, withOutputFlags } from '../printers/output-flags.ts';
import type { RolloutChange } from '../rollout/change.ts';
import { type Session, withSession } from '../session.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags } from '../write/write-options.ts';

type Selection = Pick<TargetFlags, 'filename' | 'recursive' | 'selector'>;

export function registerRollout(program: Command): void {
  const command = program
    .command('rollout')
    .description('Follow, pause, undo and restart rollouts of deployments, daemonsets and statefulsets')
    .usage('status|history|undo|pause|resume|restart ...');
  registerStatus(command);
  registerHistory(command);
  registerUndo(command);
  registerChange(command, 'pause', 'stop rollouts of deployments: changes of their templates wait', (make) => make.pause);
  registerChange(command, 'resume', 'let paused rollouts go on', (make) => make.resume);
  registerChange(command, 'restart', 'replace all pods by new ones, as a rollout does', (make) => make.restart(new Date()));
}

const typeHelp = 'TYPE NAME..., TYPE/NAME..., or TYPE for all of the namespace';

function withSelection(command: Command): Command {
  command.option('-l, --selector <selector>', 'those with these labels');
  return withManifestFlags(command, 'those that these manifests name');
}

function parseRevision(flag: string, text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d+$/.test(text))
    throw badRequest(`${flag} takes the number of a revision, as "berth rollout history" shows it, not "${text}"`);
  return Number(text);
}

interface StatusFlags extends Selection {
  readonly watch?: boolean;
  readonly revision?: string;
  readonly timeout?: string;
}

function registerStatus(rollout: Command): void {
  const command = rollout
    .command('status')
    .description('how far a rollout is, until it is done')
    .argument('[type...]', typeHelp)
    .option('-w, --watch', 'follow it until it is done, as by default')
    .option('--no-watch', 'only how far it is now')
    .option('--revision <number>', 'only of this revision: another one is an error')
    .option('--timeout <duration>', 'wait no longer than this; 0s waits on')
    .action(async (words: string[], flags: StatusFlags, own: Command) => {
      const options = {
        revision: parseRevision('--revision', flags.revision),
        watch: flags.watch !== false,
        timeoutMs: flags.timeout === undefined ? 0 : parseDuration(flags.timeout),
      };
      const [{ rolloutTargets, eachTarget }, { watchStatus }] = await Promise.all([
        import('../rollout/rollout-targets.ts'),
        import('../rollout/watch-status.ts'),
      ]);
      await withSession(own, async (session) => {
        const { targets, failed } = await rolloutTargets(session, words, flags, { verb: 'status' });
        await watchStatus(session, targets, options);
        await eachTarget({ targets: [], failed }, async () => undefined);
      });
    });
  withSelection(command);
}

interface HistoryFlags extends Selection, OutputFlags {
  readonly revision?: string;
}

function registerHistory(rollout: Command): void {
  const command = rollout
    .command('history')
    .description('the revisions that can be rolled back to')
    .argument('[type...]', typeHelp)
    .option('--revision <number>', 'the template of this revision')
    .action(async (words: string[], flags: HistoryFlags, own: Command) => {
      const number = parseRevision('--revision', flags.revision);
      const output = await readObjectOutput(flags);
      const { rolloutTargets, eachTarget } = await import('../rollout/rollout-targets.ts');
      await withSession(own, async (session) => {
        const found = await rolloutTargets(session, words, flags, { verb: 'history' });
        await eachTarget(found, (target) => showHistory(session, target, number, output));
      });
    });
  withOutputFlags(withSelection(command), 'print the revisions: ');
}

async function showHistory(
  { client: { objects } }: Session,
  target: Target,
  number: number,
  output: Awaited<ReturnType<typeof readObjectOutput>>,
): Promise<void> {
  const [{ readWorkloadRevisions, revisionNumbered }, { historyText, revisionText }, { subjectOf }] = await Promise.all([
    import('../rollout/revisions.ts'),
    import('../rollout/history-text.ts'),
    import('../rollout/undo.ts'),
  ]);
  const { kind, key } = target;
  const revisions = await readWorkloadRevisions(objects, kind, await objects.get(kindWord(kind), key));
  const chosen = number === 0 ? undefined : revisionNumbered(revisions, number);
  if (output) {
    const { printObjects } = await import('../printers/objects.ts');
    const shown: JsonObject[] = (chosen ? [chosen] : revisions).map(({ object }) => object);
    process.stdout.write(printObjects(shown, output, { single: chosen !== undefined }));
    return;
  }
  const subject = subjectOf(target);
  process.stdout.write(
    chosen ? `${subject} with revision #${number}\n${revisionText(chosen)}\n` : `${subject}\n${historyText(revisions)}\n`,
  );
}

function registerUndo(rollout: Command): void {
  const command = rollout
    .command('undo')
    .description('go back to the template of an earlier revision')
    .argument('[type...]', typeHelp)
    .option('--to-revision <number>', 'to this revision; 0 is the one before the newest', '0')
    .action(async (words: string[], flags: Selection & WriteFlags & { readonly toRevision: string }, own: Command) => {
      const number = parseRevision('--to-revision', flags.toRevision);
      const printer = await WritePrinter.for(flags);
      const [{ rolloutTargets, eachTarget }, { undoOne }] = await Promise.all([
        import('../rollout/rollout-targets.ts'),
        import('../rollout/undo.ts'),
      ]);
      await withSession(own, async (session) => {
        const found = await rolloutTargets(session, words, flags, { verb: 'undo' });
        await eachTarget(found, (target) => undoOne(session, target, number, { flags, printer }));
      });
    });
  withWriteFlags(withSelection(command));
}

type Changes = typeof import('../rollout/change.ts');

function registerChange(rollout: Command, verb: string, description: string, choose: (make: Changes) => RolloutChange): void {
  const command = rollout
    .command(verb)
    .description(description)
    .argument('[type...]', typeHelp)
    .action(async (words: string[], flags: Selection & WriteFlags, own: Command) => {
      const printer = await WritePrinter.for(flags);
      const [{ rolloutTargets, eachTarget }, make] = await Promise.all([
        import('../rollout/rollout-targets.ts'),
        import('../rollout/change.ts'),
      ]);
      const change = choose(make);
      await withSession(own, async (session) => {
        const found = await rolloutTargets(session, words, flags, { verb, kinds: change.kinds });
        await eachTarget(found, (target) => make.changeOne(session, target, change, { flags, printer }));
      });
    });
  withWriteFlags(withSelection(command));
}
