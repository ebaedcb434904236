import { badRequest } from '../../api/errors/index.ts';
import { findAll, valueText } from '../../api/jsonpath/evaluate.ts';
import { type Path, parsePath } from '../../api/jsonpath/parse.ts';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';

/** What `--for` asks for. */
export type WaitState =
  | { readonly type: 'create' | 'delete' }
  | { readonly type: 'condition'; readonly condition: string; readonly status: string }
  | { readonly type: 'jsonpath'; readonly path: Path; readonly value: string | undefined };

/** Reads what `--for` says. */
export function parseWaitState(text: string): WaitState {
  if (text === 'create' || text === 'delete') return { type: text };
  const condition = /^condition=([^=]+)(?:=(.+))?$/.exec(text);
  if (condition) return { type: 'condition', condition: condition[1] ?? '', status: condition[2] ?? 'True' };
  if (text.startsWith('jsonpath=')) return parseJsonPathState(text.slice('jsonpath='.length));
  const forms = 'condition=TYPE, condition=TYPE=STATUS, jsonpath={.path}=VALUE, jsonpath={.path}, create or delete';
  throw badRequest(`--for does not know "${text}"; it takes ${forms}`);
}

/**
 * "{.status.phase}=Running": the first "=" behind the braces ends the path;
 * without braces the first one outside brackets does.
 */
function parseJsonPathState(text: string): WaitState {
  const unquoted = /^(['"])(.*)\1(=.*)?$/s.exec(text);
  const bare = unquoted ? `${unquoted[2]}${unquoted[3] ?? ''}` : text;
  const [, path = bare, value] = /^(\{.*\}|(?:\[[^\]]*\]|[^=[])+)(?:=(.*))?$/s.exec(bare) ?? [];
  if (value === '') throw badRequest(`--for=jsonpath=${text} has no value behind "="`);
  return { type: 'jsonpath', path: parsePath(path), value: value?.replace(/^(['"])(.*)\1$/s, '$2') };
}

/** Whether an object (undefined: it does not exist) is in the state. */
export function isInState(state: WaitState, object: JsonObject | undefined): boolean {
  if (state.type === 'delete') return object === undefined;
  if (object === undefined) return false;
  switch (state.type) {
    case 'create':
      return true;
    case 'condition':
      return statusOf(object, state.condition)?.toLowerCase() === state.status.toLowerCase();
    case 'jsonpath': {
      const found = findAll(state.path, object);
      return state.value === undefined ? found.length > 0 : found.some((each) => valueText(each) === state.value);
    }
  }
}

/** The status of a condition that speaks of the object as it is now, not of a generation before. */
function statusOf(object: JsonObject, type: string): string | undefined {
  const { status, metadata } = object;
  const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  const condition = conditions.find((each) => text(each.type).toLowerCase() === type.toLowerCase());
  const observed = condition?.observedGeneration;
  const generation = isJsonObject(metadata) ? metadata.generation : undefined;
  if (typeof observed === 'number' && typeof generation === 'number' && observed < generation) return undefined;
  return condition && text(condition.status);
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
