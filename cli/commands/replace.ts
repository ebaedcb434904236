import type { Command } from 'commander';
import type { ManifestObject } from '../../api/codec/yaml.ts';
import { isAlreadyExists, isNotFound } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { JsonObject, ObjectKey } from '../../client/index.ts';
import type { ManifestFlags } from '../manifests/manifests.ts';
import { ExitWith } from '../program/failure.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags, writeOptions } from '../write/write-options.ts';

interface ReplaceFlags extends WriteFlags, ManifestFlags {
  readonly force?: boolean;
}

export function registerReplace(program: Command): void {
  const command = program
    .command('replace')
    .description('Replace objects with the manifests; a missing object is an error')
    .option('--force', 'delete the object, wait until it is gone, and create it: for fields that cannot be changed')
    .action(async (flags: ReplaceFlags, command: Command) => {
      const printer = await WritePrinter.for(flags);
      const [{ readManifests }, { eachManifest }] = await Promise.all([
        import('../manifests/manifests.ts'),
        import('../manifests/each-manifest.ts'),
      ]);
      const documents = await readManifests(flags);
      const signal = interruptSignal();
      await withSession(command, (session) =>
        eachManifest(session, documents, async (document) => {
          const object = await replaceOne(session, document, flags, signal);
          await printer.print(document.kind, object, 'replaced');
        }),
      );
    });
  withWriteFlags(withManifestFlags(command, 'file, folder, or - for standard input', { required: true }));
}

async function replaceOne(
  session: Session,
  document: ManifestObject,
  flags: ReplaceFlags,
  signal: AbortSignal,
): Promise<JsonObject> {
  const [{ manifestKey }, { toJson }] = await Promise.all([
    import('../manifests/each-manifest.ts'),
    import('../../api/codec/json.ts'),
  ]);
  const { kind, object } = document;
  const key = manifestKey(session, document);
  const wanted = toJson(kind, { ...object, metadata: { ...object.metadata, namespace: key.namespace } });
  if (flags.dryRun === 'client') return wanted;
  const options = { ...writeOptions(flags, 'berth-replace'), namespace: key.namespace };
  const { objects } = session.client;
  if (!flags.force || flags.dryRun === 'server')
    return await objects.update(
      kindWord(kind),
      kind.updateNeedsVersion ? await withVersion(session, document, key, wanted) : wanted,
      options,
    );
  await checkCreate(session, document, wanted, options);
  await deleteAndWait(session, document, key, signal);
  return await objects.create(kindWord(kind), wanted, options);
}

/** A manifest without a version replaces the object as it is now. */
async function withVersion(
  { client }: Session,
  { kind }: ManifestObject,
  key: ObjectKey,
  wanted: JsonObject,
): Promise<JsonObject> {
  const metadata = wanted.metadata as JsonObject;
  if (metadata.resourceVersion) return wanted;
  const { resourceVersion = '' } = ((await client.objects.get(kindWord(kind), key)).metadata ?? {}) as JsonObject;
  return { ...wanted, metadata: { ...metadata, resourceVersion } };
}

/**
 * Refuses what the server would not create while the old object is still there.
 * That it exists is the last thing that the server checks.
 */
async function checkCreate({ client }: Session, { kind }: ManifestObject, wanted: JsonObject, options: object): Promise<void> {
  try {
    await client.objects.create(kindWord(kind), wanted, { ...options, dryRun: ['All'] });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/**
 * The containers of the old object end before the new one exists: the node gives their ports and volumes back first.
 */
async function deleteAndWait(session: Session, { kind }: ManifestObject, key: ObjectKey, signal: AbortSignal): Promise<void> {
  const { waitForObject } = await import('../wait/wait.ts');
  const { objects } = session.client;
  const deleted = await objects.delete(kindWord(kind), key).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (deleted === undefined) return;
  const isGone = (object: JsonObject | undefined): boolean => object === undefined || uidOf(object) !== uidOf(deleted);
  if (!(await waitForObject(objects, { kind, key }, isGone, signal)).met) throw new ExitWith(130);
}

function uidOf({ metadata }: JsonObject): unknown {
  return (metadata as JsonObject | undefined)?.uid;
}
