import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { equalValues } from '../../api/meta/equal.ts';
import type { JsonObject } from '../../client/index.ts';
import type { Tree } from '../describe/json.ts';
import { findTargets, type Target, type TargetFlags } from '../get/targets.ts';
import { typeName } from '../printers/type-name.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';
import { hasTemplate, onTemplate, templateOf } from '../workload/pod-spec.ts';
import { type WriteFlags, WritePrinter, writeOptions } from '../write/write-options.ts';

/** The flags of every `set` command. */
export interface SetFlags extends TargetFlags, WriteFlags {
  readonly local?: boolean;
}

/** What one `set` command does to an object. */
export interface Setting {
  /** Said of an object that was changed: "image updated". Absent: nothing is printed of it. */
  readonly done?: string;
  /** A strategic patch; undefined when nothing is to change. Throws INVALID_ARGUMENT. */
  patch(kind: Kind, object: JsonObject): JsonObject | undefined | Promise<JsonObject | undefined>;
}

/** A setting of what a pod spec says, wherever objects of a kind have one. */
export function ofPodSpec(
  done: string,
  patch: (podSpec: Tree, object: { readonly kind: Kind; readonly object: JsonObject }) => JsonObject | undefined,
): Setting {
  return {
    done,
    patch(kind, object) {
      if (!hasTemplate(kind)) throw badRequest(`a ${kind.singular} is not a pod and has no template of pods`);
      const change = patch((templateOf(kind, object).spec ?? {}) as Tree, { kind, object });
      return change && onTemplate(kind, { spec: change });
    },
  };
}

/** Throws INVALID_ARGUMENT for flags that do not go together. */
export function checkSetFlags(words: readonly string[], { local, dryRun, filename, all, selector }: SetFlags): void {
  if (all && selector) throw badRequest('cannot set --all and --selector at the same time');
  if (words.length === 0 && !filename) throw badRequest('name the objects: TYPE NAME, TYPE/NAME, or -f with their manifests');
  if (!local) return;
  if (dryRun === 'server') throw badRequest('cannot specify --local and --dry-run=server; did you mean --dry-run=client?');
  if (words.length > 0 || !filename) throw badRequest('--local changes manifests and asks no server: give them with -f');
}

/**
 * Changes the objects that words, selectors or manifests name, each by itself: one that fails does not keep the others
 * from being changed.
 */
export async function setAll(session: Session, words: readonly string[], flags: SetFlags, setting: Setting): Promise<void> {
  const printer = await WritePrinter.for(flags);
  const { targets, failed, selected } = await findTargets(session, words, flags, 'change');
  if (selected && targets.length === 0) process.stderr.write('No resources found\n');
  await each(targets, failed, (target) => setOne(session, target, flags, { setting, printer }));
}

async function setOne(
  { client: { objects } }: Session,
  { kind, key }: Target,
  flags: SetFlags,
  { setting, printer }: { readonly setting: Setting; readonly printer: WritePrinter },
): Promise<void> {
  const live = await objects.get(kindWord(kind), key);
  const patch = await setting.patch(kind, live);
  const wanted = patch && strategicMerge(kind.message, live, patch);
  if (!wanted || equalValues(wanted, live)) return;
  if (flags.dryRun === 'client') return await printer.print(kind, wanted, setting.done ?? '');
  const after = await objects.patch(kindWord(kind), { ...key, type: 'strategic' }, patch, writeOptions(flags, 'berth-set'));
  await printer.print(kind, after, setting.done ?? '');
}

/** The same with manifests alone: prints what they would become. */
export async function setLocally(flags: SetFlags & { readonly filename?: readonly string[] }, setting: Setting): Promise<void> {
  const printer = await WritePrinter.for(flags);
  const [{ readManifests }, { describeManifestFailure }, { toJson }] = await Promise.all([
    import('../manifests/manifests.ts'),
    import('../manifests/manifest-report.ts'),
    import('../../api/codec/json.ts'),
  ]);
  const documents = await readManifests({ filename: flags.filename ?? [], recursive: flags.recursive });
  let failed = 0;
  for (const document of documents) {
    try {
      if ('problems' in document) throw new Error(document.problems[0]?.reason);
      const { kind } = document;
      const object = toJson(kind, document.object);
      const patch = await setting.patch(kind, object);
      if (setting.done === undefined) continue;
      await printer.print(kind, patch ? strategicMerge(kind.message, object, patch) : object, setting.done);
    } catch (error) {
      failed++;
      process.stderr.write(`error: ${describeManifestFailure(document, error)}\n`);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

async function each(targets: readonly Target[], failed: number, change: (target: Target) => Promise<void>): Promise<void> {
  let errors = failed;
  for (const target of targets) {
    try {
      await change(target);
    } catch (error) {
      errors++;
      const subject = targets.length > 1 ? `${typeName(target.kind)}/${target.key.name}: ` : '';
      process.stderr.write(`error: ${subject}${describeFailure(error)}\n`);
    }
  }
  if (errors > 0) throw new ExitWith(1);
}
