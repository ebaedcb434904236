import { stringify } from 'yaml';
import type { JsonObject } from '../../client/index.ts';

export type ObjectOutput = 'json' | 'yaml' | 'name';

/** Prints objects in Kubernetes' JSON form: a single one as it is, several as a `kind: List`. */
export function printObjects(
  objects: readonly JsonObject[],
  output: ObjectOutput,
  { single }: { readonly single: boolean },
): string {
  if (output === 'name') return objects.map((object) => `${nameOf(object)}\n`).join('');
  const [first] = objects;
  const document =
    single && first !== undefined ? first : { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: objects };
  return output === 'json' ? `${JSON.stringify(document, null, 4)}\n` : stringify(document, { lineWidth: 0 });
}

function nameOf(object: JsonObject): string {
  const metadata = object.metadata as { name?: string } | undefined;
  return `${String(object.kind).toLowerCase()}/${metadata?.name ?? ''}`;
}
