import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';

/**
 * Leaves a schema as it was written where an update says the same in another order: a document that came as protobuf
 * has its members in the order of their numbers, and only a change of what is wanted is another generation.
 */
export function keepSchemas(next: CustomResourceDefinition, previous: CustomResourceDefinition): void {
  for (const version of next.spec?.versions ?? []) {
    const before = previous.spec?.versions?.find(({ name }) => name === version.name);
    const [sent, kept] = [schemaOf(version), before && schemaOf(before)];
    if (sent && kept && !sent.equals(kept) && equalValues(parsed(sent), parsed(kept) ?? '')) version.schema = before!.schema!;
  }
}

function schemaOf({ schema }: CustomResourceDefinitionVersion): Buffer | undefined {
  const raw = schema?.openAPIV3Schema?.raw;
  return raw && Buffer.from(raw);
}

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString());
  } catch {
    return undefined;
  }
}
