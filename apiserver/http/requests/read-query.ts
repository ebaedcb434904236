import { badRequest } from '../../../api/errors/index.ts';
import type { DeleteOptions, GetRequest, ListOptions, WriteOptions } from '../../../api/generated/types.ts';

type Query = URLSearchParams;

/** The options of a list or a watch. Throws BAD_REQUEST for values that cannot be read. */
export function listOptionsOf(query: Query): ListOptions {
  return defined({
    labelSelector: text(query, 'labelSelector'),
    fieldSelector: text(query, 'fieldSelector'),
    resourceVersion: text(query, 'resourceVersion'),
    resourceVersionMatch: text(query, 'resourceVersionMatch'),
    continue: text(query, 'continue'),
    limit: limitOf(query),
    timeoutSeconds: integer(query, 'timeoutSeconds'),
    allowWatchBookmarks: flag(query, 'allowWatchBookmarks'),
    sendInitialEvents: flag(query, 'sendInitialEvents'),
  });
}

/** As in Kubernetes, a limit below 1 is none. */
function limitOf(query: Query): number | undefined {
  const limit = integer(query, 'limit');
  return limit !== undefined && limit < 0 ? undefined : limit;
}

export function getOptionsOf(query: Query): Pick<GetRequest, 'resourceVersion'> {
  return defined({ resourceVersion: text(query, 'resourceVersion') });
}

/** As Kubernetes has it, a writer that does not say how strict it is gets warnings. */
export function writeOptionsOf(query: Query): WriteOptions {
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  return defined({
    dryRun: dryRun.length > 0 ? dryRun : undefined,
    fieldManager: text(query, 'fieldManager'),
    fieldValidation: text(query, 'fieldValidation') ?? 'Warn',
    force: flag(query, 'force'),
  });
}

/** Options of a delete, those of the body (which win) before those of the query. */
export function deleteOptionsOf(query: Query, body: DeleteOptions): DeleteOptions {
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  const asked = defined({
    gracePeriodSeconds: integer(query, 'gracePeriodSeconds'),
    orphanDependents: flag(query, 'orphanDependents'),
    propagationPolicy: text(query, 'propagationPolicy'),
    dryRun: dryRun.length > 0 ? dryRun : undefined,
  });
  return { ...asked, ...body };
}

/** Whether a flag of the query is set; undefined where it is not there. */
export function flag(query: Query, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null || value === '') return value === null ? undefined : true;
  if (['true', '1', 't', 'T', 'TRUE', 'True'].includes(value)) return true;
  if (['false', '0', 'f', 'F', 'FALSE', 'False'].includes(value)) return false;
  throw badRequest(`${name}=${value} is neither true nor false`);
}

export function integer(query: Query, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^-?\d{1,15}$/.test(value)) throw badRequest(`${name}=${value} is no whole number`);
  return Number(value);
}

function text(query: Query, name: string): string | undefined {
  return query.get(name) || undefined;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
