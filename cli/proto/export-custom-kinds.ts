import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import { customKind } from '../../api/kinds/custom/custom-kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { formOf } from '../explain/forms.ts';
import { schemaOf } from '../explain/schema.ts';

/** A file of an export, by its path below the folder. */
interface ExportedFile {
  readonly path: string;
  readonly text: string;
}

/** Every served version of the kinds as TypeScript and as JSON Schema: "custom/GROUP/VERSION/KIND.ts". Pure. */
export function customKindFiles(definitions: readonly JsonObject[]): ExportedFile[] {
  return definitions.flatMap((json) => {
    const definition = json as CustomResourceDefinition;
    return (definition.spec?.versions ?? []).flatMap((version) => {
      const kind = customKind(definition, version);
      const schema = schemaOf(kind, json);
      if (!version.served || !schema) return [];
      const path = `custom/${kind.apiVersion}/${kind.singular}`;
      return [
        { path: `${path}.ts`, text: formOf('typescript', kind, schema) },
        { path: `${path}.schema.json`, text: formOf('json-schema', kind, schema) },
      ];
    });
  });
}

/** Writes the files of the definitions below `folder`, over those of an earlier export; gives how many. */
export async function exportCustomKinds(folder: string, definitions: readonly JsonObject[]): Promise<number> {
  const files = customKindFiles(definitions);
  for (const { path, text } of files) {
    // The names come from a server; none may lead out of the folder.
    if (!/^[\w.-]+(\/[\w-][\w.-]*)+$/.test(path)) throw new Error(`the server has a kind whose name no file can have: ${path}`);
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return files.length;
}
