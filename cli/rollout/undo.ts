import { messageFromJson } from '../../api/codec/json.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { PodTemplateSpec } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { templatesEqual } from '../../api/kinds/pod-template/equal.ts';
import type { JsonObject } from '../../client/index.ts';
import { type Tree, text, tree } from '../describe/json.ts';
import type { Target } from '../get/targets.ts';
import { typeName } from '../printers/type-name.ts';
import type { Session } from '../session.ts';
import { type WriteFlags, type WritePrinter, writeOptions } from '../write/write-options.ts';
import { revisionText } from './history-text.ts';
import { readWorkloadRevisions, revisionToUndo, undoPatch } from './revisions.ts';

/** Gives a workload the template that it had at a revision; with 0 at the one before the newest. */
export async function undoOne(
  { client: { objects } }: Session,
  { kind, key }: Target,
  toRevision: number,
  { flags, printer }: { readonly flags: WriteFlags; readonly printer: WritePrinter },
): Promise<void> {
  const object = await objects.get(kindWord(kind), key);
  const subject = `${kind.singular} "${key.name}"`;
  const revision = revisionToUndo(await readWorkloadRevisions(objects, kind, object), toRevision, subject);
  if (text(object, 'spec', 'paused') === 'true')
    throw badRequest(
      `you cannot rollback a paused ${kind.singular}; resume it first with 'berth rollout resume ${kind.singular}/${key.name}' and try again`,
    );
  if (isSame(revision.template, tree(object, 'spec', 'template'))) {
    const why = `current template already matches revision ${revision.number}`;
    return await printer.print(kind, object, `skipped rollback (${why})`);
  }
  const patch = undoPatch(kind, object, revision);
  if (flags.dryRun === 'client') {
    await printer.print(kind, strategicMerge(kind.message, object, patch), 'rolled back');
    if (flags.output === undefined && flags.template === undefined) process.stdout.write(revisionText(revision));
    return;
  }
  const after: JsonObject = await objects.patch(
    kindWord(kind),
    { ...key, type: 'strategic' },
    patch,
    writeOptions(flags, 'berth-rollout'),
  );
  await printer.print(kind, after, 'rolled back');
}

function isSame(a: Tree, b: Tree): boolean {
  const read = (template: Tree) => messageFromJson<PodTemplateSpec>('berth.core.v1.PodTemplateSpec', template);
  return templatesEqual(read(a), read(b));
}

/** "deployment.apps/web", as history and undo name it. */
export function subjectOf({ kind, key }: Target): string {
  return `${typeName(kind)}/${key.name}`;
}
