import { type Command, Option } from 'commander';
import { notFound } from '../../api/errors/index.ts';
import { parseDuration } from '../args/duration.ts';
import { findTargets, type Target, type TargetFlags, targetText } from '../get/targets.ts';
import type { OutputFlags } from '../printers/formats.ts';
import { withOutputFlags } from '../printers/output-flags.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';
import { createProgress, type Progress } from '../terminal/progress.ts';
import { timeoutSignal, waitForObject } from '../wait/wait.ts';
import { isInState, parseWaitState, type WaitState } from '../wait/wait-state.ts';
import { countsText } from '../workload/counts-text.ts';
import { readTroubles, type TroubleLine } from '../workload/read-troubles.ts';
import { TroubleWatch } from '../workload/trouble-watch.ts';
import { WritePrinter, withManifestFlags } from '../write/write-options.ts';

interface WaitFlags extends TargetFlags, OutputFlags {
  readonly for: string;
  readonly timeout: string;
}

/** A negative time-out waits this long: a week, as with kubectl. */
const longestMs = 7 * 24 * 3_600_000;

export function registerWait(program: Command): void {
  const command = program
    .command('wait')
    .description('Wait until objects are in a state: --for=condition=Ready, --for=delete')
    .argument('[type...]', 'TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all')
    .addOption(
      new Option('--for <state>', 'condition=TYPE[=STATUS], jsonpath={.path}[=VALUE], create or delete').makeOptionMandatory(),
    )
    .option('-l, --selector <selector>', 'those with these labels')
    .option('--field-selector <selector>', 'those with these fields')
    .option('--all', 'all of the type in the namespace')
    .option('-A, --all-namespaces', 'with -l or --all: in all namespaces')
    .option('--timeout <duration>', 'the timeout; 0s checks once, -1s waits for a week', '30s')
    .action(async (words: string[], flags: WaitFlags, command: Command) => {
      const state = parseWaitState(flags.for);
      const timeoutMs = flags.timeout.startsWith('-') ? longestMs : parseDuration(flags.timeout);
      await withSession(command, (session) => waitForAll(session, words, flags, { state, timeoutMs }));
    });
  withOutputFlags(withManifestFlags(command, 'those that these manifests name'), 'print the objects: ');
}

interface Wanted {
  readonly state: WaitState;
  readonly timeoutMs: number;
}

/** Waits for one after the other, all within one time. One that fails does not end the wait for the others. */
async function waitForAll(session: Session, words: readonly string[], flags: WaitFlags, wanted: Wanted): Promise<void> {
  const printer = await WritePrinter.for(flags);
  const found = await findTargets(session, words, flags, 'wait for');
  if (found.targets.length === 0 && wanted.state.type !== 'delete') throw new ExitWith(1, 'no matching resources found');
  const interrupted = interruptSignal();
  const signal = AbortSignal.any([interrupted, timeoutSignal(wanted.timeoutMs)]);
  const progress = createProgress();
  let { failed } = found;
  for (const target of found.targets) {
    const explain = (): Promise<readonly TroubleLine[]> =>
      wanted.state.type === 'delete' ? Promise.resolve([]) : readTroubles(session.client.objects, target, Date.now);
    try {
      const waited = await waitForState(session, target, { ...wanted, for: flags.for }, { signal, progress, explain });
      if (interrupted.aborted) throw new ExitWith(130);
      if (waited.met) await printer.print(target.kind, waited.object ?? { metadata: { name: target.key.name } }, 'condition met');
      else {
        failed++;
        const reasons = (await explain()).map(({ line }) => `  ${line}\n`).join('');
        process.stderr.write(`error: timed out waiting for the condition on ${targetText(target)}\n${reasons}`);
      }
    } catch (error) {
      if (error instanceof ExitWith) throw error;
      failed++;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

interface WaitRun {
  readonly signal: AbortSignal;
  readonly progress: Progress;
  explain(): Promise<readonly TroubleLine[]>;
}

/**
 * An object that does not exist will not come into a state; only `create` waits for it. One that is deleted meanwhile
 * is an error too. What is wrong with pods meanwhile is told once.
 */
async function waitForState(
  session: Session,
  target: Target,
  { state, for: asked }: Wanted & { readonly for: string },
  { signal, progress, explain }: WaitRun,
) {
  let shown = '';
  const show = (counts: string): void => {
    shown = `waiting for ${targetText(target)} (--for=${asked})${counts && `: ${counts}`}`;
    progress.show(shown);
  };
  show('');
  const isWanted = (object: Parameters<typeof isInState>[1]): boolean => {
    if (object === undefined && state.type !== 'create' && state.type !== 'delete')
      throw notFound({ kind: target.kind.kind, ...target.key });
    show(object === undefined ? '' : countsText(target.kind.kind, object));
    return isInState(state, object);
  };
  const tell = (line: string): void => {
    progress.clear();
    process.stderr.write(`warning: ${line}\n`);
    progress.show(shown);
  };
  const ended = new AbortController();
  void new TroubleWatch({ read: explain, tell }).run(ended.signal);
  return await waitForObject(session.client.objects, target, isWanted, signal).finally(() => {
    ended.abort();
    progress.clear();
  });
}
