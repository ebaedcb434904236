import { type Command, InvalidArgumentError, Option } from 'commander';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import type { DeleteOptions } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../client/index.ts';
import { parseDuration } from '../args/duration.ts';
import { findTargets, type Target, type TargetFlags, targetText } from '../get/targets.ts';
import { typeName } from '../printers/type-name.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';
import { type DryRun, dryRunNotes, withDryRunFlag, withManifestFlags } from '../write/write-options.ts';

interface DeleteFlags extends TargetFlags {
  readonly gracePeriod?: number;
  readonly force?: boolean;
  readonly now?: boolean;
  readonly cascade: 'background' | 'foreground' | 'orphan';
  readonly ignoreNotFound?: boolean;
  readonly wait: boolean;
  readonly timeout?: string;
  readonly dryRun?: DryRun;
  readonly output?: string;
}

export function registerDelete(program: Command): void {
  const command = program
    .command('delete')
    .description('Delete objects and wait until they are gone')
    .argument('[type...]', 'TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all')
    .option('-l, --selector <selector>', 'those with these labels')
    .option('--field-selector <selector>', 'those with these fields')
    .option('--all', 'all of the type in the namespace')
    .option('-A, --all-namespaces', 'with -l or --all: in all namespaces')
    .addOption(new Option('--grace-period <seconds>', 'how long a pod may take to end').argParser(parseGracePeriod))
    .option('--now', 'a grace period of one second')
    .option('--force', 'with --grace-period=0: the object is removed at once, without waiting for the node')
    .addOption(
      new Option('--cascade <how>', 'what becomes of what the object owns')
        .choices(['background', 'foreground', 'orphan'])
        .default('background'),
    )
    .option('--ignore-not-found', 'ignore objects that do not exist')
    .option('--no-wait', 'return when the deletion is accepted')
    .option('--timeout <duration>', 'wait no longer than this; 0s waits on')
    .addOption(new Option('-o, --output <format>', 'print names only').choices(['name']))
    .action(async (words: string[], flags: DeleteFlags, command: Command) => {
      const options = deleteOptionsOf(flags, command.getOptionValueSource('cascade') !== 'default');
      const timeoutMs = flags.timeout === undefined ? 0 : parseDuration(flags.timeout);
      await withSession(command, async (session) => {
        const { targets, failed, selected } = await findTargets(session, words, flags, 'delete');
        if (selected && targets.length === 0) process.stdout.write('No resources found\n');
        if (options.gracePeriodSeconds === 0 && targets.length > 0)
          process.stderr.write(
            'Warning: forced deletion does not wait until a node has ended the containers; they may run on until it hears of it\n',
          );
        const done = await deleteAll(session, definitionsLast(targets), options, flags, selected);
        if (flags.wait && (flags.dryRun ?? 'none') === 'none') await waitUntilGone(session, done.accepted, timeoutMs);
        if (failed + done.failed > 0) throw new ExitWith(1);
      });
    });
  withManifestFlags(command, 'delete what these manifests name');
  withDryRunFlag(command);
}

function parseGracePeriod(text: string): number {
  const seconds = Number(text);
  if (!Number.isSafeInteger(seconds) || seconds < -1) throw new InvalidArgumentError('It takes a whole number of seconds.');
  return seconds;
}

/** As kubectl has it: 0 seconds without --force are 1, because the object would be gone before its containers. */
export function deleteOptionsOf(
  { gracePeriod = -1, force, now, cascade, dryRun }: Pick<DeleteFlags, 'gracePeriod' | 'force' | 'now' | 'cascade' | 'dryRun'>,
  cascadeGiven: boolean,
): DeleteOptions {
  if (now && gracePeriod !== -1) throw badRequest('--now and --grace-period cannot be given together');
  if (force && (gracePeriod > 0 || now)) throw badRequest('--force takes no grace period but 0');
  const seconds = now || (gracePeriod === 0 && !force) ? 1 : force ? 0 : gracePeriod;
  return {
    ...(seconds >= 0 ? { gracePeriodSeconds: seconds } : {}),
    ...(cascadeGiven ? { propagationPolicy: cascade.charAt(0).toUpperCase() + cascade.slice(1) } : {}),
    ...(dryRun === 'server' ? { dryRun: ['All'] } : {}),
  };
}

/** Objects go before the definitions of their kinds, with which they would be gone already. */
function definitionsLast(targets: readonly Target[]): Target[] {
  const isDefinition = ({ kind }: Target): boolean => isKind(kind, 'CustomResourceDefinition');
  return [...targets.filter((target) => !isDefinition(target)), ...targets.filter(isDefinition)];
}

interface Accepted extends Target {
  readonly uid: string;
}

interface Deletion {
  readonly target: Target;
  /** The object's last state; absent when it was not deleted. */
  readonly last?: JsonObject | undefined;
  readonly error?: unknown;
}

/** Deletes each, or only reads it; several are sent together. */
async function* deletions(
  { client: { objects } }: Session,
  targets: readonly Target[],
  options: DeleteOptions,
  onlyRead: boolean,
): AsyncGenerator<Deletion> {
  if (targets.length > 1 && !onlyRead) {
    const { writeAll } = await import('../write/write-all.ts');
    const writes = targets.map(
      (target) => ({ verb: 'delete', kind: kindWord(target.kind), key: target.key, options, target }) as const,
    );
    for await (const { write, object, error } of writeAll(objects, writes)) yield { target: write.target, last: object, error };
    return;
  }
  for (const target of targets) {
    const { kind, key } = target;
    try {
      yield { target, last: await (onlyRead ? objects.get(kindWord(kind), key) : objects.delete(kindWord(kind), key, options)) };
    } catch (error) {
      yield { target, error };
    }
  }
}

/** Asks for all deletions first, so that many pods end side by side. */
async function deleteAll(
  session: Session,
  targets: readonly Target[],
  options: DeleteOptions,
  flags: DeleteFlags,
  selected: boolean,
): Promise<{ accepted: Accepted[]; failed: number }> {
  const accepted: Accepted[] = [];
  let failed = 0;
  const verb = options.gracePeriodSeconds === 0 ? 'force deleted' : 'deleted';
  const note = dryRunNotes[flags.dryRun ?? 'none'];
  for await (const { target, last, error } of deletions(session, targets, options, flags.dryRun === 'client')) {
    const { kind, key } = target;
    if (last) {
      const type = typeName(kind);
      process.stdout.write(flags.output ? `${type}/${key.name}\n` : `${type} "${key.name}" ${verb}${note}\n`);
      accepted.push({ ...target, uid: uidOf(last) });
    } else if (!(flags.ignoreNotFound ?? selected) || !isNotFound(error)) {
      // What was listed a moment ago may be gone by now.
      failed++;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
    }
  }
  return { accepted, failed };
}

function uidOf(object: JsonObject): string {
  return (object.metadata as { uid?: string } | undefined)?.uid ?? '';
}

/** Waits until none of the deleted objects is there; another of the same name is another. */
async function waitUntilGone(session: Session, accepted: readonly Accepted[], timeoutMs: number): Promise<void> {
  if (accepted.length === 0) return;
  const [{ timeoutSignal, waitForEach }, { createProgress }] = await Promise.all([
    import('../wait/wait.ts'),
    import('../terminal/progress.ts'),
  ]);
  const interrupted = interruptSignal();
  const signal = timeoutMs > 0 ? AbortSignal.any([interrupted, timeoutSignal(timeoutMs)]) : interrupted;
  const progress = createProgress();
  const waiting = {
    isWanted: ({ uid }: Accepted, object: JsonObject | undefined) => object === undefined || uidOf(object) !== uid,
    show(target: Accepted, others: number) {
      const more = others > 0 ? ` and ${others} more` : '';
      progress.show(`waiting for ${targetText(target)}${more} to be gone; Ctrl-C ends the wait, not the deletion`);
    },
  };
  const left = await waitForEach(session.client.objects, accepted, waiting, signal).finally(() => progress.clear());
  if (left && interrupted.aborted) throw new ExitWith(130);
  if (left) throw new ExitWith(1, `timed out waiting until ${targetText(left)} is gone; its deletion goes on`);
}
