import type { MapType } from '../../api/apply/field-type.ts';
import { toJson } from '../../api/codec/json.ts';
import { type ErrorSubject, internal, invalid } from '../../api/errors/index.ts';
import type { CustomRules } from '../../api/kinds/custom/custom-kind.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { Json, JsonObject } from '../../api/meta/merge-patch.ts';
import type { AnyObject } from '../registry/any-object.ts';
import type { CompiledSchema } from '../schema/compiled-schema.ts';
import { fieldTypeOfKind } from '../schema/field-type-of.ts';
import { loadedSchemaEngine } from './schema-engine.ts';

/** What the rules of one version are made of. */
export interface SchemaSource {
  readonly names: Pick<Kind, 'apiVersion' | 'kind' | 'message'>;
  /** The schema, read when it is first needed: most kinds rest. */
  read(): Json;
}

/** Rules by a schema that is compiled when something is first written. */
export function schemaRules({ names, read }: SchemaSource): CustomRules {
  let compiled: CompiledSchema | undefined;
  const schema = (): CompiledSchema => {
    compiled ??= compile(names, read());
    return compiled;
  };
  let fieldType: MapType | undefined;
  const jsonOf = (object: object): JsonObject => toJson(names, object);
  return {
    prune: (object) => onMembers(object, (members) => schema().prune(members)),
    unkeptNumbers: (object) => onMembers(object, (members) => schema().unkeptNumbers(members)),
    defaults(object) {
      const violations = onMembers(object, (members) => schema().applyDefaults(members));
      if (violations.length > 0) throw invalid(subjectOf(names, object), violations);
    },
    validate: (next, previous) => schema().validate(jsonOf(next), previous && jsonOf(previous)),
    fieldType() {
      fieldType ??= fieldTypeOfKind(schema().root);
      return fieldType;
    },
  };
}

function compile({ apiVersion, kind }: SchemaSource['names'], json: Json): CompiledSchema {
  const { schema, violations } = loadedSchemaEngine().compileSchema(json, { path: 'schema', isStored: true });
  if (schema) return schema;
  const [first] = violations;
  throw internal(`the stored schema of ${apiVersion} ${kind} cannot be compiled: ${first?.field}: ${first?.description}`);
}

function subjectOf({ kind }: SchemaSource['names'], { metadata = {} }: AnyObject): ErrorSubject {
  const { name, generateName = '', namespace } = metadata;
  return { kind, name: name || generateName, ...(namespace && { namespace }) };
}

/** Changes the members of an object that are JSON: all but its metadata, which a schema always knows. */
function onMembers<T>(object: object, change: (members: JsonObject) => T): T {
  const { metadata: _, ...members } = object as JsonObject;
  const before = Object.keys(members);
  const result = change(members);
  const target = object as JsonObject;
  for (const name of before) if (!Object.hasOwn(members, name)) delete target[name];
  for (const name of Object.keys(members)) {
    const value = members[name];
    if (name !== 'metadata' && value !== undefined && target[name] !== value) target[name] = value;
  }
  return result;
}
