import type { Resource } from '../http/subresources.ts';
import type { GroupVersionKind } from './definitions.ts';

/** A parameter of a request. */
export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
}

/** What may be done at a path. */
export interface Operation {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  /** As x-kubernetes-action has it. */
  readonly action: string;
  readonly id: string;
  readonly parameters: readonly Parameter[];
  /** The name of the definition of what is sent; absent: nothing is. */
  readonly body?: string;
  /** The name of the definition of the answer; absent: text. */
  readonly answer?: string;
  /** A strategic merge patch is refused: it needs to know how lists merge, and a user's definition does not say. */
  readonly withoutStrategic?: true;
  readonly gvk: GroupVersionKind;
}

/** The names of the definitions that the operations of a resource speak of; absent where there is none. */
export interface ResourceForms {
  readonly object?: string;
  readonly list?: string;
  readonly status: string;
  readonly patch: string;
  readonly deleteOptions: string;
  /** The kind is a user's. */
  readonly custom?: boolean;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  ...{ name, in: 'query', type, description },
});
const writing: readonly Parameter[] = [
  query('dryRun', 'string', '"All": the request takes all steps but the last, and nothing is stored.'),
  query('fieldManager', 'string', 'The name under which the writer owns the fields that it sets.'),
  query('fieldValidation', 'string', 'What happens to unknown and duplicate fields: "Ignore", "Warn" or "Strict".'),
];
const applying = [...writing, query('force', 'boolean', 'An apply takes fields that other managers own.')];
const deleting: readonly Parameter[] = [
  writing[0]!,
  query('gracePeriodSeconds', 'integer', 'How long the object may take to end.'),
  query('propagationPolicy', 'string', 'What becomes of dependents: "Orphan", "Background" or "Foreground".'),
];
const listing: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'A watch tells now and then how far it has come.'),
  query('continue', 'string', 'Where the page begins.'),
  query('fieldSelector', 'string', 'Only objects whose fields have these values.'),
  query('labelSelector', 'string', 'Only objects with these labels.'),
  query('limit', 'integer', 'The most objects of a page.'),
  query('resourceVersion', 'string', 'The version that is shown, or that a watch begins behind.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant.'),
  query('sendInitialEvents', 'boolean', 'A watch begins with the objects that there are.'),
  query('timeoutSeconds', 'integer', 'How long a watch lasts.'),
  query('watch', 'boolean', 'Changes are sent as they come.'),
];

const placed = (name: string, what: string): Parameter => ({ name, in: 'path', type: 'string', description: what });
const inNamespace = placed('namespace', 'The namespace.');
const named = placed('name', 'The name of the object.');

const upper = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** The operations of a resource or subresource by path: "/api/v1/namespaces/{namespace}/pods". Pure. */
export function operationsOf(
  { group, version }: Pick<GroupVersionKind, 'group' | 'version'>,
  resource: Resource,
  forms: ResourceForms,
): [string, Operation[]][] {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const [plural = '', part] = resource.name.split('/');
  const space = resource.namespaced ? '/namespaces/{namespace}' : '';
  const gvk = { group: resource.group ?? group, version: resource.version ?? version, kind: resource.kind };
  const suffix = `${upper((group.split('.')[0] || 'core') + upper(version))}${resource.namespaced ? 'Namespaced' : ''}${resource.kind}${upper(part ?? '')}`;
  const { object, list, status, patch, deleteOptions, custom } = forms;
  const places = [...(space ? [inNamespace] : []), named];
  const may = (verb: string): boolean => resource.verbs.includes(verb);
  const make = (
    verb: string,
    rest: Pick<Operation, 'method' | 'action' | 'parameters'> & { body?: string | undefined; answer?: string | undefined },
  ): Operation[] => {
    const { body, answer, ...others } = rest;
    if (!may(verb)) return [];
    const kept = custom && rest.method === 'patch' ? { withoutStrategic: true as const } : {};
    return [{ ...others, ...kept, id: `${verb}${suffix}`, gvk, ...(body && { body }), ...(answer && { answer }) }];
  };
  const posts = (at: readonly Parameter[]): Operation[] =>
    make('create', { method: 'post', action: 'post', parameters: [...at, ...writing], body: object, answer: object });
  const one = [
    ...make('get', { method: 'get', action: 'get', parameters: places, answer: object }),
    ...make('update', { method: 'put', action: 'put', parameters: [...places, ...writing], body: object, answer: object }),
    ...make('patch', { method: 'patch', action: 'patch', parameters: [...places, ...applying], body: patch, answer: object }),
  ];
  if (part !== undefined) return [[`${root}${space}/${plural}/{name}/${part}`, [...one, ...posts(places)]]];
  const above = places.slice(0, -1);
  const lists = make('list', { method: 'get', action: 'list', parameters: [...above, ...listing], answer: list });
  const remove = { method: 'delete', parameters: [...places, ...deleting], body: deleteOptions, answer: status } as const;
  const all = { ...remove, action: 'deletecollection', parameters: [...above, ...deleting, ...listing] };
  return [
    [`${root}${space}/${plural}`, [...lists, ...posts(above), ...make('deletecollection', all)]],
    [`${root}${space}/${plural}/{name}`, [...one, ...make('delete', { ...remove, action: 'delete' })]],
  ].filter((entry): entry is [string, Operation[]] => entry[1]!.length > 0);
}
