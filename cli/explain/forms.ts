import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { kindJsonSchema } from './json-schema.ts';
import { kindTypes } from './typescript.ts';

/** In which forms programs get a custom kind. */
export type Form = 'typescript' | 'json-schema';

/** A version of a custom kind in a form for programs. Pure. */
export function formOf(form: Form, kind: Kind, schema: JsonObject): string {
  return form === 'typescript' ? kindTypes(kind, schema) : `${JSON.stringify(kindJsonSchema(kind, schema), null, 2)}\n`;
}
