import { Document, visit } from 'yaml';
import { withCreatorFields } from '../../api/apply/managers.ts';
import { typeOfMessage } from '../../api/codec/message-type.ts';
import { fillAsJson, fillTemplate, findAll, findStrictly, valueText } from '../../api/jsonpath/evaluate.ts';
import { kindOf } from '../../api/kinds/index.ts';
import { isJsonObject, type Json } from '../../api/meta/merge-patch.ts';
import type { JsonObject } from '../../client/index.ts';
import type { CustomColumn, ObjectOutput } from './output.ts';
import { plainTable } from './plain-table.ts';
import { typeName } from './type-name.ts';

export interface ObjectPrintOptions {
  /** A single object as it is; several, or any number of a list, as a `kind: List`. */
  readonly single: boolean;
  /** Whether custom columns have headings. */
  readonly headers?: boolean;
  /** Whether JSON and YAML have the list of who wrote which fields, which is long and few want to see. */
  readonly showManagedFields?: boolean | undefined;
}

/** Prints objects in Kubernetes' JSON form, or what a template or columns pick from it. */
export function printObjects(
  objects: readonly JsonObject[],
  output: ObjectOutput,
  { single, headers = true, showManagedFields = false }: ObjectPrintOptions,
): string {
  if (output.format === 'name') return objects.map((object) => `${nameOf(object)}\n`).join('');
  if (output.format === 'custom-columns') return printColumns(objects, output.columns, headers);
  const isTemplate = output.format === 'jsonpath' || output.format === 'go-template';
  const shown = objects.map(showManagedFields || isTemplate ? withAllManagedFields : withoutManagedFields);
  const [first] = shown;
  const list = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: [...shown] };
  const document = single && first !== undefined ? first : list;
  if (output.format === 'go-template') return output.fill(document);
  if (output.format === 'jsonpath') {
    const fill = output.asJson ? fillAsJson : fillTemplate;
    return fill(output.template, document, document, output.strict ? findStrictly : findAll);
  }
  return output.format === 'json' ? `${JSON.stringify(document, null, 4)}\n` : yamlText(document);
}

/** The creator owns what no other manager does, which the server leaves out. */
function withAllManagedFields(object: JsonObject): JsonObject {
  const kind = kindOf(String(object.kind));
  if (!kind || !isJsonObject(object.metadata) || object.metadata.managedFields === undefined) return object;
  const managedFields = withCreatorFields(typeOfMessage(kind.message), object, kind.hasStatus) as unknown as Json;
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

/** Removes managedFields, which are long and of which the server alone is the author. */
export function withoutManagedFields(object: JsonObject): JsonObject {
  if (!isJsonObject(object.metadata) || object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const LINE_OF_SPACES = /^[^\S\n]+$/m;

/**
 * An object as YAML for people: long lines stay whole; texts that a reader of YAML 1.1 takes for something else
 * (yes, 0644) have quotes.
 */
export function yamlText(object: JsonObject): string {
  const document = new Document(object, { version: '1.1' });
  visit(document, {
    // Lines of spaces alone would be read back shorter from a block of lines.
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && LINE_OF_SPACES.test(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
}

function printColumns(objects: readonly JsonObject[], columns: readonly CustomColumn[], headers: boolean): string {
  const cell = (object: JsonObject, { path }: CustomColumn): string => findAll(path, object).map(valueText).join(',') || '<none>';
  const rows = objects.map((object) => columns.map((column) => cell(object, column)));
  return plainTable(headers ? columns.map(({ name }) => name) : undefined, rows);
}

function nameOf(object: JsonObject): string {
  const metadata = object.metadata as { name?: string } | undefined;
  return `${typeName({ kind: String(object.kind), apiVersion: String(object.apiVersion ?? '') })}/${metadata?.name ?? ''}`;
}
