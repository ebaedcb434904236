import type { Command } from 'commander';
import { upgradedEntries } from '../../api/apply/client-side.ts';
import { typeOfMessage } from '../../api/codec/message-type.ts';
import type { ManifestObject } from '../../api/codec/yaml.ts';
import { badRequest, isConflict } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { manifestKey } from '../manifests/each-manifest.ts';
import type { Session } from '../session.ts';
import type { ApplyPlan } from './apply-object.ts';
import { findObject } from './find-object.ts';
import { type WriteFlags, writeOptions } from './write-options.ts';

/** The flags of commands that apply on the server. */
export interface ServerSideFlags extends WriteFlags {
  readonly serverSide?: boolean;
  readonly forceConflicts?: boolean;
}

/** Who owns what the command line applies on the server. Client-side apply has another name. */
const MANAGER = 'berth';
/** How often the entries are read again because another write came between. */
const UPGRADE_ATTEMPTS = 5;

/** Adds --server-side and --force-conflicts. */
export function withServerSideFlags(command: Command): Command {
  return command
    .option('--server-side', 'apply on the server, which knows who owns which fields')
    .option('--force-conflicts', 'with --server-side: take over fields that other managers own');
}

/** Throws for flags that do not go together. */
export function checkServerSideFlags({ serverSide, forceConflicts, dryRun }: ServerSideFlags): void {
  if (forceConflicts && !serverSide) throw badRequest('--force-conflicts goes with --server-side only');
  if (serverSide && dryRun === 'client')
    throw badRequest('--dry-run=client does not go with --server-side: say --dry-run=server');
}

/**
 * Plans the server-side apply of a manifest. What a client-side apply owns of the object is moved to the manager first,
 * as kubectl does, so that it is no conflict, and so that what the manifest leaves out is removed. For a manager that
 * the user names it is a conflict.
 */
export async function planServerSideApply(
  session: Session,
  document: ManifestObject,
  flags: ServerSideFlags,
): Promise<ApplyPlan> {
  const { kind, json } = document;
  const target = { ...manifestKey(session, document), type: 'apply' } as const;
  const options = { ...writeOptions(flags, MANAGER), fieldValidation: 'Strict', force: flags.forceConflicts === true };
  const metadata = { ...(json.metadata as JsonObject), ...(target.namespace && { namespace: target.namespace }) };
  const patch: JsonObject = { ...json, metadata };
  const check = async (): Promise<void> => {
    if (options.fieldManager === MANAGER || options.force) return;
    await session.client.objects.patch(kindWord(kind), target, patch, { ...options, dryRun: ['All'] });
  };
  const live = await upgrade(session, document, flags, check);
  return { live, write: { verb: 'patch', kind: kindWord(kind), target, patch, options }, done: () => 'serverside-applied' };
}

/**
 * Moves what a client-side apply owns once `check` resolves; nothing in a dry run. Gives the object, undefined where
 * there is none.
 */
async function upgrade(
  session: Session,
  document: ManifestObject,
  flags: ServerSideFlags,
  check: () => Promise<void>,
): Promise<JsonObject | undefined> {
  const { kind } = document;
  const key = manifestKey(session, document);
  const { objects } = session.client;
  const { fieldManager = MANAGER, dryRun } = writeOptions(flags, MANAGER);
  for (let attempt = 1; ; attempt++) {
    const live = await findObject(objects, kind, key);
    const managedFields = live && upgradedEntries(typeOfMessage(kind.message), live, kind.hasStatus, fieldManager);
    if (!live || !managedFields || dryRun?.length) return live;
    await check();
    const { resourceVersion } = live.metadata as { resourceVersion: string };
    try {
      return await objects.patch(kindWord(kind), key, { metadata: { managedFields, resourceVersion } }, { fieldManager });
    } catch (error) {
      if (!isConflict(error) || attempt >= UPGRADE_ATTEMPTS) throw error;
    }
  }
}
