import { fromJson, toJson } from '../api/codec/json.ts';
import { kindOf } from '../api/kinds/index.ts';
import type { JsonObject } from '../api/meta/merge-patch.ts';
import type { Session } from './session.ts';
import { type WriteFlags, WritePrinter, writeOptions } from './write-options.ts';

/** Creates an object that the command line made, and prints it. Checked as strictly as a manifest, also when nothing is sent. */
export async function createGenerated(session: Session, object: JsonObject, flags: WriteFlags, manager: string): Promise<void> {
  const kind = kindOf(String(object.kind));
  if (!kind) throw new RangeError(`generate a ${object.kind}: api/kinds does not list it`);
  const printer = await WritePrinter.for(flags);
  const checked = toJson(kind, fromJson(kind, object));
  const namespace = kind.namespaced ? session.namespace : undefined;
  if (namespace !== undefined) checked.metadata = { ...(checked.metadata as JsonObject), namespace };
  const created =
    flags.dryRun === 'client'
      ? checked
      : await session.client.objects.create(kind.kind, checked, { ...writeOptions(flags, manager), namespace });
  await printer.print(kind, created, 'created');
}
