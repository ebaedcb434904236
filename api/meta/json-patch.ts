import { badRequest } from '../errors/constructors.ts';
import { equalValues } from './equal.ts';
import { isJsonObject, type Json, setMember } from './merge-patch.ts';

/** Far more than a person or a controller sends. */
const maxOperations = 10_000;
/** What copies may add up to, in characters of JSON: each may double the object. An object has at most 1.5 MiB. */
const maxCopied = 3 * 1024 * 1024;

/** One operation of RFC 6902. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

/** Reads a list of operations; throws INVALID_ARGUMENT that names the operation by its number. */
export function parseJsonPatch(patch: Json): JsonPatchOperation[] {
  if (!Array.isArray(patch)) throw badRequest('cannot patch: a JSON patch is a list of operations');
  if (patch.length > maxOperations) throw badRequest(`cannot patch: more than ${maxOperations} operations`);
  return patch.map((each, at) => {
    const wrong = (why: string): Error => badRequest(`cannot patch: operation ${at}: ${why}`);
    if (!isJsonObject(each)) throw wrong('is no object');
    const { op, path, from, value } = each;
    if (typeof path !== 'string' || !/^(\/|$)/.test(path)) throw wrong('path must be "" or begin with "/"');
    switch (op) {
      case 'add':
      case 'replace':
      case 'test':
        if (value === undefined) throw wrong(`${op} needs a value`);
        return { op, path, value };
      case 'remove':
        return { op, path };
      case 'move':
      case 'copy':
        if (typeof from !== 'string' || !/^(\/|$)/.test(from)) throw wrong(`${op} needs from, which begins with "/"`);
        return { op, path, from };
      default:
        throw wrong(`op must be add, remove, replace, move, copy or test, not ${JSON.stringify(op)}`);
    }
  });
}

/** Does all operations in order on a copy. Throws INVALID_ARGUMENT for a path that is not there and a test that fails. */
export function applyJsonPatch(target: Json, operations: readonly JsonPatchOperation[]): Json {
  let result = structuredClone(target);
  let copied = 0;
  operations.forEach((operation, at) => {
    try {
      if (operation.op === 'copy') copied += JSON.stringify(read(result, operation.from)).length;
      if (copied > maxCopied) throw new Error('the copies are too large');
      result = applyOne(result, operation);
    } catch (error) {
      throw badRequest(`cannot patch: operation ${at} (${operation.op} ${operation.path}): ${(error as Error).message}`);
    }
  });
  return result;
}

function applyOne(root: Json, operation: JsonPatchOperation): Json {
  switch (operation.op) {
    case 'add':
      return put(root, operation.path, structuredClone(operation.value), 'add');
    case 'replace':
      read(root, operation.path);
      return put(root, operation.path, structuredClone(operation.value), 'replace');
    case 'test':
      if (!equalValues(read(root, operation.path), operation.value)) throw new Error('the value is another');
      return root;
    case 'remove':
      remove(root, operation.path);
      return root;
    case 'copy':
      return put(root, operation.path, structuredClone(read(root, operation.from)), 'add');
    case 'move': {
      const value = read(root, operation.from);
      if (operation.path.startsWith(`${operation.from}/`)) throw new Error('cannot move a value into itself');
      remove(root, operation.from);
      return put(root, operation.path, value, 'add');
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
  throw new Error(`there is no "${step}"`);
}

function read(root: Json, pointer: string): Json {
  return stepsOf(pointer).reduce(child, root);
}

/** A place of a list; `last` is the greatest that may be named. */
function indexOf(step: string, last: number): number {
  const index = /^(0|[1-9]\d*)$/.test(step) ? Number(step) : Number.NaN;
  if (!(index <= last)) throw new Error(`there is no item ${step}`);
  return index;
}

function put(root: Json, pointer: string, value: Json, how: 'add' | 'replace'): Json {
  const steps = stepsOf(pointer);
  const last = steps.pop();
  if (last === undefined) return value;
  const parent = steps.reduce(child, root);
  if (Array.isArray(parent)) {
    if (how === 'replace') parent[indexOf(last, parent.length - 1)] = value;
    else parent.splice(last === '-' ? parent.length : indexOf(last, parent.length), 0, value);
  } else if (isJsonObject(parent)) {
    setMember(parent, last, value);
  } else throw new Error('the parent is neither an object nor a list');
  return root;
}

function remove(root: Json, pointer: string): void {
  const steps = stepsOf(pointer);
  const last = steps.pop();
  if (last === undefined) throw new Error('the whole object cannot be removed');
  const parent = steps.reduce(child, root);
  child(parent, last);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isJsonObject(parent)) delete parent[last];
}
