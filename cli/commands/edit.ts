import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { asApiError, violationLine } from '../../api/errors/index.ts';
import type { JsonObject } from '../../client/index.ts';
import { checkSubresource } from '../args/subresource.ts';
import type { EditProblem } from '../edit/edited-text.ts';
import { openEditor } from '../edit/editor.ts';
import type { EditedPart } from '../edit/save-edit.ts';
import { findTargets, type TargetFlags } from '../get/targets.ts';
import { typeName } from '../printers/type-name.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { withFieldManagerFlag, withManifestFlags, writeOptions } from '../write/write-options.ts';

interface EditFlags extends TargetFlags {
  readonly subresource?: string;
  readonly output: 'yaml' | 'json';
  readonly fieldManager?: string;
}

export function registerEdit(program: Command): void {
  const command = program
    .command('edit')
    .description('Change objects in an editor: $KUBE_EDITOR, $VISUAL, $EDITOR or vi')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME...')
    .addOption(new Option('-o, --output <format>', 'the form to edit').choices(['yaml', 'json']).default('yaml'))
    .addOption(new Option('--subresource <name>', 'edit this instead of the object').choices(['status', 'scale', 'resize']))
    .action(async (words: string[], flags: EditFlags, command: Command) => {
      await withSession(command, async (session) => {
        const { targets, failed } = await findTargets(session, words, flags, 'edit');
        for (const { kind } of targets) checkSubresource(kind, flags.subresource);
        for (const target of targets) await editOne(session, { ...target, subresource: flags.subresource }, flags);
        if (failed > 0) throw new ExitWith(1);
      });
    });
  withManifestFlags(withFieldManagerFlag(command), 'those that these manifests name');
}

/**
 * Opens the editor until the object is saved or the person gives up. What was written is never lost:
 * a failure leaves the file.
 */
async function editOne(session: Session, target: EditedPart, flags: EditFlags): Promise<void> {
  const [{ composeText, splitText }, { readPart }, { withoutManagedFields }] = await Promise.all([
    import('../edit/edited-text.ts'),
    import('../edit/save-edit.ts'),
    import('../printers/objects.ts'),
  ]);
  const { kind, key } = target;
  const before = withoutManagedFields(await readPart(session.client.objects, target));
  // Not for others' eyes: it may be a Secret.
  const folder = mkdtempSync(join(tmpdir(), 'berth-edit-'));
  const file = join(folder, `${kind.singular}-${key.name}.${flags.output}`);
  const original = await textOf(before, flags);
  let body = original;
  let problems: readonly EditProblem[] = [];
  let linesBefore = 0;
  try {
    for (;;) {
      writeFileSync(file, composeText(body, problems, linesBefore), { mode: 0o600 });
      await openEditor(file);
      const text = readFileSync(file, 'utf8');
      const written = splitText(text);
      const unchanged = written.body === body;
      if (written.body.trim() === '' || (unchanged && problems.length === 0)) return cancel(folder, 'no changes made');
      if (unchanged)
        throw new ExitWith(
          1,
          ['Edit cancelled, no valid changes were saved:', ...problems.map(({ text }) => `  ${text}`)].join('\n'),
        );
      const outcome = await trySave(session, { ...target, before, flags }, text);
      if (outcome === 'unchanged') return cancel(folder, 'no changes made');
      if (outcome === 'saved') {
        rmSync(folder, { recursive: true, force: true });
        process.stdout.write(`${typeName(kind)}/${key.name} edited\n`);
        return;
      }
      ({ body, linesBefore } = written);
      problems = outcome.problems;
    }
  } catch (error) {
    const kept = splitText(readFileSync(file, 'utf8')).body === original ? undefined : file;
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
    const place = kept === undefined ? '' : `\nA copy of your changes is in ${kept}`;
    throw new ExitWith(1, (error instanceof ExitWith ? error.message : describeFailure(error)) + place);
  }
}

function cancel(folder: string, why: string): void {
  rmSync(folder, { recursive: true, force: true });
  process.stderr.write(`Edit cancelled, ${why}.\n`);
}

type Outcome = 'saved' | 'unchanged' | { readonly problems: readonly EditProblem[] };

interface Edited extends EditedPart {
  readonly before: JsonObject;
  readonly flags: EditFlags;
}

async function trySave(session: Session, { before, flags, ...target }: Edited, text: string): Promise<Outcome> {
  const [{ readEdited }, { formOf, saveEdit }] = await Promise.all([
    import('../edit/edited-text.ts'),
    import('../edit/save-edit.ts'),
  ]);
  const edited = readEdited(text, formOf(target), target.key);
  if ('problems' in edited) return edited;
  try {
    const options = writeOptions(flags, 'berth-edit');
    const saved = await saveEdit(session.client.objects, target, { before, after: edited.object }, options);
    return saved === undefined ? 'unchanged' : 'saved';
  } catch (error) {
    const violations = asApiError(error)?.violations ?? [];
    if (violations.length === 0) throw error;
    return {
      problems: violations.map((violation) => ({ line: edited.locate(violation.field), text: violationLine(violation) })),
    };
  }
}

async function textOf(object: JsonObject, { output }: EditFlags): Promise<string> {
  if (output === 'json') return `${JSON.stringify(object, null, 4)}\n`;
  const { yamlText } = await import('../printers/objects.ts');
  return yamlText(object);
}
