import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../../api/generated/types.ts';
import { customKind } from '../../api/kinds/custom/custom-kind.ts';
import { servedVersionsOf, storageVersionOf } from '../../api/kinds/custom-resource-definition/meaning.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { Json } from '../../api/meta/merge-patch.ts';
import { schemaRules } from './schema-rules.ts';

/**
 * The served versions of the kind that a definition adds, the preferred one first. Where none is served, the stored one
 * is while the definition is being deleted, as its objects go first. `readSchema` is called when something of a version
 * is first written, so that kinds that rest cost nothing. Pure.
 */
export function servedVersions(definition: CustomResourceDefinition, readSchema: (version: string) => Json): readonly Kind[] {
  const { spec, metadata } = definition;
  const served = servedVersionsOf(spec);
  const storage = metadata?.deletionTimestamp && storageVersionOf(spec);
  const sorted = served.length === 0 && storage ? [storage] : served;
  const selectable = sorted.flatMap(({ selectableFields = [] }) => selectableFields);
  const kindAs = (version: CustomResourceDefinitionVersion): Kind => {
    const kind = customKind(definition, { ...version, selectableFields: selectable });
    const { apiVersion, message } = kind;
    const rules = schemaRules({ names: { apiVersion, kind: kind.kind, message }, read: () => readSchema(version.name ?? '') });
    return customKind(definition, { ...version, selectableFields: selectable }, rules);
  };
  return sorted.map(kindAs);
}

/** Makes a kind that is served another one of the same name and version, in place: what refers to it goes on. */
export function adopt(kind: Kind, next: Kind): void {
  const target = kind as unknown as Record<string, unknown>;
  for (const name of Object.keys(target)) if (!Object.hasOwn(next, name)) delete target[name];
  Object.assign(target, next);
}
