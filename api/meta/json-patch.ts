import { ApiError } from '../errors/api-error.ts';
import { badRequest } from '../errors/constructors.ts';
import { shortened } from '../errors/violations.ts';
import { isTooDeep, tooDeepText } from './json-depth.ts';
import { cloneJson, equalJson, JsonWork } from './json-work.ts';
import { isJsonObject, type Json, setMember } from './merge-patch.ts';

/** Far more than a person or a controller sends; Kubernetes' bound. */
const maxOperations = 10_000;
/** Of a path that a message repeats. */
const shownPath = 200;
/** Items of a list that move when one is added or removed cost so much less than a value that is read. */
const movedItemsPerVisit = 32;

/** One operation of RFC 6902. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

/**
 * Reads a list of operations; throws INVALID_ARGUMENT that names the operation by its number. As in Kubernetes, what is
 * no list of objects is a bad request, and an operation that cannot be carried out is invalid.
 */
export function parseJsonPatch(patch: Json): JsonPatchOperation[] {
  if (!Array.isArray(patch)) throw badRequest('cannot patch: a JSON patch is a list of operations');
  if (patch.length > maxOperations) throw tooMany(patch.length);
  return patch.map((each, at) => {
    if (!isJsonObject(each)) throw badRequest(`cannot patch: operation ${at}: is no object`);
    const wrong = (why: string): Error => refused(`operation ${at}: ${why}`);
    const { op, path, from, value } = each;
    if (typeof path !== 'string' || !/^(\/|$)/.test(path)) throw wrong('path must be "" or begin with "/"');
    switch (op) {
      case 'add':
      case 'replace':
      case 'test':
        // As in Kubernetes, a value that is left out is null: Go's clients leave empty maps out.
        return { op, path, value: value ?? null };
      case 'remove':
        return { op, path };
      case 'move':
      case 'copy':
        if (typeof from !== 'string' || !/^(\/|$)/.test(from)) throw wrong(`${op} needs from, which begins with "/"`);
        return { op, path, from };
      default:
        throw wrong(`op must be add, remove, replace, move, copy or test, not ${shortened(JSON.stringify(op) ?? 'nothing')}`);
    }
  });
}

function tooMany(count: number): ApiError {
  const message = `Request entity too large: The allowed maximum operations in a JSON patch is ${maxOperations}, got ${count}`;
  return new ApiError('INVALID_ARGUMENT', 'RequestEntityTooLarge', `cannot patch: more than ${maxOperations} operations`, {
    parts: { of: 'text', message },
  });
}

/** Kubernetes' reason and words, by which controllers know that their test has failed. */
function refused(why: string): ApiError {
  const message = `the server rejected our request due to an error in our request: ${why}`;
  return badRequest(`cannot patch: ${why}`, [], { of: 'text', message, reason: 'Invalid' });
}

/**
 * Does all operations in order on a copy. Throws INVALID_ARGUMENT for a path that is not there, a test that fails, and
 * for too much work or depth.
 */
export function applyJsonPatch(target: Json, operations: readonly JsonPatchOperation[]): Json {
  const work = new JsonWork();
  let result = cloneJson(target, new JsonWork());
  operations.forEach((operation, at) => {
    try {
      result = applyOne(result, operation, work);
    } catch (error) {
      const where = `operation ${at} (${operation.op} ${shortened(operation.path, shownPath)})`;
      throw refused(`${where}: ${(error as Error).message}`);
    }
  });
  if (isTooDeep(result)) throw badRequest(`cannot patch: the result ${tooDeepText}`);
  return result;
}

function applyOne(root: Json, operation: JsonPatchOperation, work: JsonWork): Json {
  work.visit(1 + operation.path.length / 8);
  switch (operation.op) {
    case 'add':
      return put(root, operation, cloneJson(operation.value, work), work);
    case 'replace':
      read(root, operation.path);
      return put(root, operation, cloneJson(operation.value, work), work);
    case 'test':
      if (!equalJson(read(root, operation.path), operation.value, work)) throw new Error('the value is another');
      return root;
    case 'remove':
      remove(root, operation.path, work);
      return root;
    case 'copy':
      return put(root, operation, cloneJson(read(root, operation.from), work, true), work);
    case 'move': {
      const value = read(root, operation.from);
      if (operation.path.startsWith(`${operation.from}/`)) throw new Error('cannot move a value into itself');
      remove(root, operation.from, work);
      return put(root, operation, value, work);
    }
  }
}

function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function child(value: Json, step: string): Json {
  if (Array.isArray(value)) return value[indexOf(step, value.length - 1)] as Json;
  if (isJsonObject(value) && Object.hasOwn(value, step)) return value[step] as Json;
  throw new Error(`there is no "${shortened(step)}"`);
}

function read(root: Json, pointer: string): Json {
  return stepsOf(pointer).reduce(child, root);
}

/** A place of a list; `last` is the greatest that may be named. */
function indexOf(step: string, last: number): number {
  const index = /^(0|[1-9]\d*)$/.test(step) ? Number(step) : Number.NaN;
  if (!(index <= last)) throw new Error(`there is no item ${shortened(step)}`);
  return index;
}

function put(root: Json, { op, path }: JsonPatchOperation, value: Json, work: JsonWork): Json {
  const steps = stepsOf(path);
  const last = steps.pop();
  if (last === undefined) return value;
  const parent = steps.reduce(child, root);
  if (Array.isArray(parent)) {
    if (op === 'replace') parent[indexOf(last, parent.length - 1)] = value;
    else insert(parent, last === '-' ? parent.length : indexOf(last, parent.length), value, work);
  } else if (isJsonObject(parent)) {
    setMember(parent, last, value);
  } else throw new Error('the parent is neither an object nor a list');
  return root;
}

function insert(list: Json[], index: number, value: Json, work: JsonWork): void {
  work.visit((list.length - index) / movedItemsPerVisit);
  list.splice(index, 0, value);
}

function remove(root: Json, pointer: string, work: JsonWork): void {
  const steps = stepsOf(pointer);
  const last = steps.pop();
  if (last === undefined) throw new Error('the whole object cannot be removed');
  const parent = steps.reduce(child, root);
  child(parent, last);
  if (Array.isArray(parent)) {
    work.visit((parent.length - Number(last)) / movedItemsPerVisit);
    parent.splice(Number(last), 1);
  } else if (isJsonObject(parent)) delete parent[last];
}
