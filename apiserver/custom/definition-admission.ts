import { failedPrecondition, invalid } from '../../api/errors/index.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../../api/generated/types.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { groupOf, resourceOf } from '../../api/kinds/identity.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Json } from '../../api/meta/merge-patch.ts';
import type { Admission } from '../admission/admission.ts';
import type { Eventually } from '../eventually.ts';
import { loadSchemaEngine } from './schema-engine.ts';

/** Reads a definition, never older than the last acknowledged write. */
export type DefinitionReader = (name: string) => Eventually<CustomResourceDefinition | undefined>;

/** Schemas must be structural and their rules must compile; a kind that is being deleted gets no new objects. */
export function definitionRules(readDefinition: DefinitionReader): Admission {
  const refuseTerminating = async (kind: Kind, object: ApiObject): Promise<void> => {
    const definition = await readDefinition(resourceOf(kind));
    if (!definition?.metadata?.deletionTimestamp) return;
    const why = `cannot create ${kind.singular} "${object.metadata?.name ?? ''}": the kind is being deleted`;
    const subject = { kind: kind.kind, group: groupOf(kind.apiVersion), resource: kind.plural };
    const message = 'create not allowed while custom resource definition is terminating';
    throw failedPrecondition('KindTerminating', why, subject, { of: 'text', message, reason: 'MethodNotAllowed' });
  };
  return {
    create(kind, object) {
      if (isKind(kind, 'CustomResourceDefinition')) return checkSchemas(kind, object, undefined);
      return isCustom(kind) ? refuseTerminating(kind, object) : undefined;
    },
    async update(kind, next, previous) {
      if (isKind(kind, 'CustomResourceDefinition')) await checkSchemas(kind, next, previous);
    },
  };
}

async function checkSchemas(
  kind: Kind,
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition | undefined,
): Promise<void> {
  const { compileSchema } = await loadSchemaEngine();
  const rules = { count: 0 };
  const schemas = (next.spec?.versions ?? []).flatMap((version, i) => {
    const raw = version.schema?.openAPIV3Schema?.raw;
    const isStored = isSame(
      raw,
      previous?.spec?.versions?.find(({ name }) => name === version.name),
    );
    return raw ? [{ raw, options: { path: `spec.versions[${i}].schema.openAPIV3Schema`, isStored, rules } }] : [];
  });
  if (schemas.every(({ options }) => options.isStored)) return;
  // Those that have not changed come first: they are counted, but not refused any more.
  for (const { raw, options } of schemas) if (options.isStored) compileSchema(readSchema(raw), options);
  const found = schemas.flatMap(({ raw, options }) =>
    options.isStored ? [] : (compileSchema(readSchema(raw), options).violations ?? []),
  );
  if (found.length === 0) return;
  // All at once: validation comes later, and would find the rest only when these are mended.
  throw invalid({ kind: 'CustomResourceDefinition', name: next.metadata?.name ?? '' }, [...kind.validate(next), ...found]);
}

/** Whether a version had the same schema before. */
function isSame(raw: Uint8Array | undefined, previous: CustomResourceDefinitionVersion | undefined): boolean {
  const before = previous?.schema?.openAPIV3Schema?.raw;
  return raw !== undefined && before !== undefined && Buffer.compare(raw, before) === 0;
}

/** A schema is carried as JSON, which the codec has checked. */
export function readSchema(raw: Uint8Array): Json {
  return JSON.parse(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8')) as Json;
}
