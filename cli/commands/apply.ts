import type { Command } from 'commander';
import { toJson } from '../../api/codec/json.ts';
import type { ManifestDocument } from '../../api/codec/yaml.ts';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { computeApplyPatch, readLastApplied, withLastApplied } from '../apply-patch.ts';
import { describeFailure, ExitWith } from '../failure.ts';
import { readManifests } from '../manifests.ts';
import { type Session, withSession } from '../session.ts';

interface ApplyFlags {
  readonly filename: string[];
  readonly dryRun?: boolean;
}

export function registerApply(program: Command): void {
  program
    .command('apply')
    .description('Create or change objects so that they are as the manifests say')
    .requiredOption('-f, --filename <path...>', 'file, folder, or - for standard input')
    .option('--dry-run', 'let the server check everything, but store nothing')
    .action(async (flags: ApplyFlags, command: Command) => {
      const documents = readManifests(flags.filename);
      await withSession(command, (session) => applyAll(session, documents, flags));
    });
}

/** Applies every document that can be read, in order; a bad one does not hide the others. */
async function applyAll(session: Session, documents: readonly ManifestDocument[], flags: ApplyFlags): Promise<void> {
  let failed = 0;
  for (const document of documents) {
    try {
      if ('error' in document) throw document.error;
      const done = await applyOne(session, document.kind, document.object, flags);
      process.stdout.write(
        `${document.kind.singular}/${document.object.metadata?.name} ${done}${flags.dryRun ? ' (dry run)' : ''}\n`,
      );
    } catch (error) {
      failed++;
      const place = 'error' in document ? '' : `${document.file}:${document.line}: `;
      process.stderr.write(`error: ${place}${describeFailure(error)}\n`);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

async function applyOne(
  session: Session,
  kind: Kind,
  object: ApiObject,
  flags: ApplyFlags,
): Promise<'created' | 'configured' | 'unchanged'> {
  const name = object.metadata?.name;
  if (!name) throw badRequest(`a ${kind.singular} without metadata.name cannot be applied`);
  const namespace = kind.namespaced ? (object.metadata?.namespace ?? session.namespace) : undefined;
  const wanted = withLastApplied(toJson(kind, { ...object, metadata: { ...object.metadata, namespace } }) as JsonObject);
  const options = { fieldManager: 'berth-apply', dryRun: flags.dryRun ? ['All'] : [] };
  const { objects } = session.client;

  const live = await objects.get(kind.kind, { namespace, name }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (live === undefined) {
    await objects.create(kind.kind, wanted, { ...options, namespace });
    return 'created';
  }
  const current = live as JsonObject;
  const patch = computeApplyPatch(readLastApplied(current), wanted, current);
  if (patch === undefined) return 'unchanged';
  const after = await objects.patch(kind.kind, { namespace, name }, patch, options);
  return versionOf(after as JsonObject) === versionOf(current) ? 'unchanged' : 'configured';
}

function versionOf(object: JsonObject): unknown {
  return (object.metadata as JsonObject | undefined)?.resourceVersion;
}
