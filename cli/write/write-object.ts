import { fromJson, toJson } from '../../api/codec/json.ts';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { kindOf } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Session } from '../session.ts';
import { type WriteFlags, WritePrinter, writeOptions } from './write-options.ts';

/**
 * Creates an object that the command line made, and prints it. Checked as strictly as a manifest,
 * also when nothing is sent.
 */
export async function createGenerated(session: Session, object: JsonObject, flags: WriteFlags, manager: string): Promise<void> {
  const printer = await WritePrinter.for(flags);
  await printer.print(generatedKind(object), await createObject(session, object, flags, manager), 'created');
}

/** The same without a word. */
export async function createObject(
  { client, namespace }: Session,
  object: JsonObject,
  flags: WriteFlags,
  manager: string,
): Promise<JsonObject> {
  const kind = generatedKind(object);
  const checked = toJson(kind, fromJson(kind, object));
  const metadata = checked.metadata as JsonObject;
  if (kind.namespaced) {
    const named = metadata.namespace ?? namespace;
    if (named !== namespace)
      throw badRequest(
        `the namespace from the provided object "${String(named)}" does not match the namespace "${namespace}"; add --namespace=${String(named)}`,
      );
    checked.metadata = { ...metadata, namespace };
  }
  if (flags.dryRun === 'client') return checked;
  const options = { ...writeOptions(flags, manager), ...(kind.namespaced && { namespace }) };
  return await client.objects.create(kindWord(kind), checked, options);
}

function generatedKind(object: JsonObject): Kind {
  const kind = kindOf(String(object.kind));
  if (!kind) throw new RangeError(`generate a ${object.kind}: api/kinds does not list it`);
  return kind;
}
