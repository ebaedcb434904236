import type { Command } from 'commander';
import { badRequest, notFound } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { JsonObject } from '../../client/index.ts';
import { parseDuration } from '../args/duration.ts';
import { wholeNumber } from '../generators/numbers.ts';
import { findTargets, type Target, type TargetFlags, targetText } from '../get/targets.ts';
import { typeName } from '../printers/type-name.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { isScaled, type Precondition, scaleOne, withReplicas } from '../scale/scale-one.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags, writeOptions } from '../write/write-options.ts';

interface ScaleFlags extends TargetFlags, WriteFlags {
  readonly replicas: string;
  readonly currentReplicas?: string;
  readonly resourceVersion?: string;
  readonly timeout?: string;
}

export function registerScale(program: Command): void {
  const command = program
    .command('scale')
    .description('Set how many pods deployments, statefulsets, replicasets or replicationcontrollers keep')
    .argument('[type...]', 'TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all')
    .requiredOption('--replicas <count>', 'how many pods')
    .option('--current-replicas <count>', 'only if so many are wanted now; -1 is no condition')
    .option('--resource-version <version>', 'only if the object has this version')
    .option('-l, --selector <selector>', 'those with these labels')
    .option('--all', 'all of the type in the namespace')
    .option('--timeout <duration>', 'wait so long until there are so many pods; without it the command does not wait')
    .action(async (words: string[], flags: ScaleFlags, command: Command) => {
      const wanted = parseWanted(flags);
      const printer = await WritePrinter.for(flags);
      await withSession(command, (session) => scaleAll(session, words, flags, { ...wanted, printer }));
    });
  withWriteFlags(withManifestFlags(command, 'those that these manifests name'));
}

interface Wanted {
  readonly replicas: number;
  readonly precondition: Precondition;
  /** 0: do not wait. */
  readonly timeoutMs: number;
}

function parseWanted({ replicas, currentReplicas, resourceVersion, timeout, dryRun = 'none' }: ScaleFlags): Wanted {
  const current = currentReplicas === undefined ? -1 : wholeNumber('--current-replicas', currentReplicas, { least: -1 });
  return {
    replicas: wholeNumber('--replicas', replicas),
    precondition: { currentReplicas: current < 0 ? undefined : current, resourceVersion },
    timeoutMs: timeout === undefined || dryRun !== 'none' ? 0 : parseDuration(timeout),
  };
}

type ScaleRun = Wanted & { readonly printer: WritePrinter };

async function scaleAll(session: Session, words: readonly string[], flags: ScaleFlags, run: ScaleRun): Promise<void> {
  const { targets, failed } = await findTargets(session, words, flags, 'scale');
  for (const { kind } of targets)
    if (!kind.scale) throw badRequest(`cannot scale a ${kind.singular}: it has no number of replicas`);
  if (targets.length === 0 && failed === 0) throw new ExitWith(1, 'no objects passed to scale');
  if (run.precondition.resourceVersion !== undefined && targets.length > 1)
    throw badRequest('cannot use --resource-version with multiple resources');
  let errors = failed;
  for (const target of targets) {
    try {
      await scaleTarget(session, target, flags, run);
    } catch (error) {
      if (error instanceof ExitWith) throw error;
      errors++;
      process.stderr.write(`error: ${targets.length > 1 ? `${targetText(target)}: ` : ''}${describeFailure(error)}\n`);
    }
  }
  if (errors > 0) throw new ExitWith(1);
}

async function scaleTarget({ client }: Session, target: Target, flags: ScaleFlags, run: ScaleRun): Promise<void> {
  const { kind, key } = target;
  const { replicas } = run;
  if (flags.dryRun !== 'client')
    await scaleOne(client.objects, target, replicas, run.precondition, writeOptions(flags, 'berth-scale'));
  if (run.timeoutMs > 0) await waitForSize(client.objects, target, run);
  // The line of text needs no more than the name, which who may only scale knows as well.
  const isShown =
    flags.dryRun === 'client' || (flags.output !== undefined && flags.output !== 'name') || flags.template !== undefined;
  const object = isShown
    ? withReplicas(await client.objects.get(kindWord(kind), key), replicas)
    : { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: key.name } };
  await run.printer.print(kind, object, 'scaled');
}

async function waitForSize(
  objects: Session['client']['objects'],
  target: Target,
  { replicas, timeoutMs }: ScaleRun,
): Promise<void> {
  const [{ timeoutSignal, waitForObject }, { createProgress }] = await Promise.all([
    import('../wait/wait.ts'),
    import('../terminal/progress.ts'),
  ]);
  const { kind, key } = target;
  const interrupted = interruptSignal();
  const signal = AbortSignal.any([interrupted, timeoutSignal(timeoutMs)]);
  const progress = createProgress();
  const isWanted = (object: JsonObject | undefined): boolean => {
    if (object === undefined) throw notFound({ kind: kind.kind, ...key });
    const { replicas: there = 0 } = (object.status ?? {}) as { replicas?: number };
    progress.show(`${typeName(kind)}/${key.name} has ${there} of ${replicas} pods`);
    return isScaled(object, replicas);
  };
  const waited = await waitForObject(objects, target, isWanted, signal).finally(() => progress.clear());
  if (waited.met) return;
  throw interrupted.aborted ? new ExitWith(130) : badRequest(`timed out waiting for "${key.name}" to be synced`);
}
