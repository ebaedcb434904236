import { messageToJson } from '../../codec/json.ts';
import type { CustomResourceColumnDefinition } from '../../generated/types.ts';
import { findAll, PathTooCostly, valueText } from '../../jsonpath/evaluate.ts';
import { type Path, parsePath } from '../../jsonpath/parse.ts';
import type { Json, JsonObject } from '../../meta/merge-patch.ts';
import { ageColumn, nameColumn } from '../cells.ts';
import type { ApiObject, Column } from '../kind.ts';

/** The columns of a kind that users added: its name, and what its definition says, else its age. */
export function customColumns(columns: readonly CustomResourceColumnDefinition[] = []): readonly Column<ApiObject>[] {
  if (columns.length === 0) return [nameColumn, ageColumn];
  return [nameColumn, ...columns.map(customColumn)];
}

function customColumn(column: CustomResourceColumnDefinition): Column<ApiObject> {
  const { name = '', type, format, description, priority = 0, jsonPath = '' } = column;
  let path: Path | undefined;
  const isDate = type === 'date';
  return {
    name: name.toUpperCase(),
    type: isDate ? 'date' : type === 'integer' ? 'integer' : 'string',
    priority: priority > 0 ? 1 : 0,
    ...(description && { description }),
    ...(format && { format }),
    cell(object) {
      path ??= parsePath(jsonPath);
      const first = firstOf(path, jsonOf(object, path));
      if (first === undefined || first === null) return '';
      const text = valueText(first);
      return isDate && Number.isNaN(Date.parse(text)) ? '<invalid>' : text;
    },
  };
}

/** Values of an object that the path of a column may look at; those in use take some tens. */
const MOST_VALUES = 10_000;

/** Undefined for what is not there, or not found with reasonable effort. */
function firstOf(path: Path, object: JsonObject): Json | undefined {
  try {
    return findAll(path, object, object, { left: MOST_VALUES })[0];
  } catch (error) {
    if (!(error instanceof PathTooCostly)) throw error;
    return undefined;
  }
}

/** The object as paths see it; its metadata are made into JSON only where a path may look at them. */
function jsonOf(object: ApiObject, { steps: [first] }: Path): JsonObject {
  if (first?.type === 'key' && !first.name.startsWith('metadata')) return object as JsonObject;
  const metadata = messageToJson('berth.meta.v1.ObjectMeta', object.metadata ?? {});
  return { ...(object as object), metadata };
}
