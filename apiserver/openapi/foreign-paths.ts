import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { type GroupVersionKind, GVK } from './definitions.ts';
import { type ParsedDocument, REF } from './foreign-definitions.ts';
import type { Operation, Parameter } from './operations.ts';
import { strategic } from './write-operations.ts';

const PARAMETERS = '#/parameters/';
const methods = ['get', 'put', 'post', 'delete', 'patch'] as const;
const types: readonly unknown[] = ['string', 'boolean', 'integer'];
const partForm = /^(?:[a-z0-9][-a-z0-9.]*|\{[a-z]+\})$/;
const textForm = /^[\w.-]{1,253}$/;
const mostPaths = 2_000;
const mostParameters = 50;
const mostCharacters = 2_000;

/**
 * The paths of one group and version, rebuilt from what is understood of them. Clients read there what a kind's server
 * can do, such as a dry run. `isKnown` are the names of the definitions that the whole document has.
 */
export function* foreignPaths(
  { group, version, json }: ParsedDocument,
  isKnown: (name: string) => boolean,
): Generator<[path: string, operations: readonly Operation[]]> {
  const { paths, parameters } = json;
  if (!isJsonObject(paths)) return;
  const root = `/apis/${group}/${version}/`;
  const shared = isJsonObject(parameters) ? parameters : {};
  const own = Object.entries(paths).filter(([path]) => path.startsWith(root) && hasForm(path.slice(root.length)));
  for (const [path, item] of own.slice(0, mostPaths)) {
    if (!isJsonObject(item)) continue;
    const operations = methods.flatMap((method) => {
      const operation = item[method];
      return isJsonObject(operation) ? readOperation({ operation, method, of: item.parameters }, shared, isKnown) : [];
    });
    if (operations.length > 0) yield [path, operations];
  }
}

const hasForm = (rest: string): boolean => rest.length <= mostCharacters && rest.split('/').every((part) => partForm.test(part));

interface ForeignOperation {
  readonly operation: JsonObject;
  readonly method: Operation['method'];
  /** The parameters of all operations of its path. */
  readonly of: unknown;
}

function readOperation(
  { operation, method, of }: ForeignOperation,
  shared: JsonObject,
  isKnown: (name: string) => boolean,
): Operation[] {
  const { operationId: id, 'x-kubernetes-action': action, consumes } = operation;
  const gvk = readKind(operation[GVK]);
  if (!gvk || !isName(id) || !isName(action)) return [];
  const given = [of, operation.parameters].flatMap((each) => (Array.isArray(each) ? each : []));
  const resolved = given.slice(0, mostParameters).map((each) => resolve(each, shared));
  const sent = resolved.find((each) => each?.in === 'body');
  const body = knownName(sent?.schema, isKnown);
  const answer = answerOf(operation.responses, isKnown);
  const isPlain = method === 'patch' && !(Array.isArray(consumes) && consumes.includes(strategic));
  return [
    {
      ...{ method, id, action, gvk, parameters: resolved.flatMap((each) => (each ? readParameter(each) : [])) },
      ...(body !== undefined && { body }),
      ...(answer !== undefined && { answer }),
      ...(isPlain && { withoutStrategic: true as const }),
    },
  ];
}

const isName = (value: unknown): value is string => typeof value === 'string' && textForm.test(value);

function readKind(value: unknown): GroupVersionKind | undefined {
  if (!isJsonObject(value)) return undefined;
  const { group, version, kind } = value;
  return (group === '' || isName(group)) && isName(version) && isName(kind) ? { group, version, kind } : undefined;
}

/** Kubernetes' documents name parameters that many operations have. */
function resolve(value: unknown, shared: JsonObject): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  const { $ref } = value;
  if (typeof $ref !== 'string') return value;
  const name = $ref.slice(PARAMETERS.length);
  const found = $ref.startsWith(PARAMETERS) && Object.hasOwn(shared, name) ? shared[name] : undefined;
  return isJsonObject(found) ? found : undefined;
}

function readParameter({ name, in: place, type, description }: JsonObject): Parameter[] {
  if (!isName(name) || (place !== 'query' && place !== 'path') || !types.includes(type)) return [];
  const said = typeof description === 'string' ? description.slice(0, mostCharacters) : '';
  return [{ name, in: place, type: type as Parameter['type'], description: said }];
}

function answerOf(responses: unknown, isKnown: (name: string) => boolean): string | undefined {
  if (!isJsonObject(responses)) return undefined;
  const found = ['200', '201', '202'].map((code) => responses[code]).find(isJsonObject);
  return found && knownName(found.schema, isKnown);
}

function knownName(schema: unknown, isKnown: (name: string) => boolean): string | undefined {
  const $ref = isJsonObject(schema) ? schema.$ref : undefined;
  if (typeof $ref !== 'string' || !$ref.startsWith(REF)) return undefined;
  const name = $ref.slice(REF.length);
  return isKnown(name) ? name : undefined;
}
