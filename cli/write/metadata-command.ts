import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { findTargets, type Target, type TargetFlags, targetText } from '../get/targets.ts';
import { typeName } from '../printers/type-name.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { computeChange, type MetadataChange, splitChanges } from './metadata-change.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags, writeOptions } from './write-options.ts';

/** What `label` and `annotate` differ in. */
export interface MetadataNoun {
  readonly verb: 'label' | 'annotate';
  readonly noun: 'label' | 'annotation';
  readonly field: 'labels' | 'annotations';
  readonly done: (sets: boolean) => string;
  readonly unchanged: string;
}

interface MetadataFlags extends TargetFlags, WriteFlags {
  readonly overwrite?: boolean;
  readonly list?: boolean;
}

/** Registers `label` or `annotate`. */
export function registerMetadataCommand(program: Command, what: MetadataNoun): void {
  const command = program
    .command(what.verb)
    .description(`Set and remove ${what.field} of objects: KEY=VALUE sets, KEY- removes`)
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME..., then KEY=VALUE... and KEY-...')
    .option('--overwrite', `change ${what.field} that have another value`)
    .option('--list', `show the ${what.field}`)
    .option('-l, --selector <selector>', 'those with these labels')
    .option('--field-selector <selector>', 'those with these fields')
    .option('--all', 'all of the type in the namespace')
    .option('-A, --all-namespaces', 'with -l or --all: in all namespaces')
    .action(async (words: string[], flags: MetadataFlags, command: Command) => {
      const { objects, change } = splitChanges(words);
      if (change.set.size + change.remove.size === 0 && !flags.list)
        throw badRequest(`say which ${what.field} to set (KEY=VALUE) or to remove (KEY-)`);
      await withSession(command, (session) => changeAll(session, what, objects, change, flags));
    });
  withWriteFlags(withManifestFlags(command, 'those that this manifest names', { wordsFollow: true }));
}

async function changeAll(
  session: Session,
  what: MetadataNoun,
  words: readonly string[],
  change: MetadataChange,
  flags: MetadataFlags,
): Promise<void> {
  const printer = await WritePrinter.for(flags);
  const { targets, failed } = await findTargets(session, words, flags, what.verb);
  if (targets.length === 0 && failed === 0) process.stdout.write('No resources found\n');
  let errors = failed;
  for (const target of targets) {
    try {
      const live = await session.client.objects.get(kindWord(target.kind), target.key);
      const { object, done } = await changeOne(session, what, target, { live, change }, flags);
      if (flags.list) printList(what, target, object, targets.length > 1);
      else await printer.print(target.kind, object, done);
    } catch (error) {
      errors++;
      process.stderr.write(`error: ${targetText(target)}: ${describeFailure(error)}\n`);
    }
  }
  if (errors > 0) throw new ExitWith(1);
}

async function changeOne(
  session: Session,
  what: MetadataNoun,
  { kind, key }: Target,
  { live, change }: { readonly live: JsonObject; readonly change: MetadataChange },
  flags: MetadataFlags,
): Promise<{ readonly object: JsonObject; readonly done: string }> {
  const { patch, sets, absent } = computeChange(valuesOf(what, live), change, flags.overwrite ?? false);
  for (const name of absent) process.stderr.write(`${what.noun} "${name}" not found.\n`);
  if (!patch) return { object: live, done: what.unchanged };
  const whole = { metadata: { [what.field]: patch } };
  if (flags.dryRun === 'client') {
    const { mergePatch } = await import('../../api/meta/merge-patch.ts');
    return { object: mergePatch(live, whole) as JsonObject, done: what.done(sets) };
  }
  const options = writeOptions(flags, `berth-${what.verb}`);
  return { object: await session.client.objects.patch(kindWord(kind), key, whole, options), done: what.done(sets) };
}

function valuesOf({ field }: MetadataNoun, object: JsonObject): Record<string, string> {
  return ((object.metadata as JsonObject | undefined)?.[field] ?? {}) as Record<string, string>;
}

function printList(what: MetadataNoun, target: Target, object: JsonObject, several: boolean): void {
  const lines = Object.entries(valuesOf(what, object)).map(([key, value]) => `${key}=${value}\n`);
  const heading = several ? `Listing ${what.field} for ${typeName(target.kind)}/${target.key.name}:\n` : '';
  process.stdout.write(
    heading +
      lines
        .sort()
        .map((line) => (several ? ` ${line}` : line))
        .join(''),
  );
}
