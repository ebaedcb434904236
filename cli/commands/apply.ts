import type { Command } from 'commander';
import { toJson } from '../../api/codec/json.ts';
import type { ManifestObject } from '../../api/codec/yaml.ts';
import { isNotFound } from '../../api/errors/index.ts';
import { type JsonObject, mergePatch } from '../../api/meta/merge-patch.ts';
import { computeApplyPatch, readLastApplied, withLastApplied } from '../apply-patch.ts';
import { eachManifest, manifestKey } from '../each-manifest.ts';
import type { ManifestFlags } from '../manifests.ts';
import { type Session, withSession } from '../session.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags, writeOptions } from '../write-options.ts';

type ApplyFlags = WriteFlags & ManifestFlags;

export function registerApply(program: Command): void {
  const command = program
    .command('apply')
    .description('Create or change objects so that they are as the manifests say')
    .action(async (flags: ApplyFlags, command: Command) => {
      const printer = await WritePrinter.for(flags);
      const { readManifests } = await import('../manifests.ts');
      const documents = await readManifests(flags);
      await withSession(command, (session) =>
        eachManifest(session, documents, async (document) => {
          const { object, done } = await applyOne(session, document, flags);
          await printer.print(document.kind, object, done);
        }),
      );
    });
  withWriteFlags(withManifestFlags(command, 'file, folder, or - for standard input', { required: true }));
}

interface Applied {
  readonly object: JsonObject;
  readonly done: 'created' | 'configured' | 'unchanged';
}

async function applyOne(session: Session, document: ManifestObject, flags: WriteFlags): Promise<Applied> {
  const { kind, object } = document;
  const key = manifestKey(session, document);
  const wanted = withLastApplied(
    toJson(kind, { ...object, metadata: { ...object.metadata, namespace: key.namespace } }) as JsonObject,
  );
  const options = writeOptions(flags, 'berth-client-side-apply');
  const { objects } = session.client;

  const live = await objects.get(kind.kind, key).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (live === undefined) {
    if (flags.dryRun === 'client') return { object: wanted, done: 'created' };
    const created = await objects.create(kind.kind, wanted, { ...options, namespace: key.namespace });
    return { object: created, done: 'created' };
  }
  const patch = computeApplyPatch(readLastApplied(live), wanted, live);
  if (patch === undefined) return { object: live, done: 'unchanged' };
  if (flags.dryRun === 'client') return { object: mergePatch(live, patch) as JsonObject, done: 'configured' };
  const after = await objects.patch(kind.kind, key, patch, options);
  return { object: after, done: versionOf(after) === versionOf(live) ? 'unchanged' : 'configured' };
}

function versionOf(object: JsonObject): unknown {
  return (object.metadata as JsonObject | undefined)?.resourceVersion;
}
