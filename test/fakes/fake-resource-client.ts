import { ApiError, alreadyExists, conflict, expired, notFound, unimplemented } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { splitKey } from '../../api/meta/key.ts';
import type { CallOptions, ObjectKey, Page, ResourceClient, Scope, WatchEvent } from '../../client/services/resource-client.ts';
import { matchesScope } from './fake-selectors.ts';
import { createFakeWatches } from './fake-watches.ts';

export type FakeMethod = 'create' | 'get' | 'list' | 'watch' | 'update' | 'updateStatus' | 'patch' | 'delete';

/**
 * One call, as it came in: `target` is "namespace/name" (empty for list and watch),
 * `argument` what the method was given.
 */
export interface FakeCall {
  readonly method: FakeMethod;
  readonly target: string;
  readonly argument: unknown;
}

/**
 * A ResourceClient over objects in memory, with the server's rules for versions, conflicts, paging and watches, and a
 * log of the calls. What the server would do to an object (defaults, validation, deletionTimestamp) it does not do.
 */
export interface FakeResourceClient<T extends ApiObject> extends ResourceClient<T> {
  readonly calls: FakeCall[];
  /** The calls of these methods, as "method namespace/name". */
  callLog(...methods: FakeMethod[]): string[];
  /** The next `times` (default 1) calls of the method throw this. */
  failNext(method: FakeMethod, error: Error, times?: number): void;
  /** What is stored now. */
  objects(): T[];
  stored(key: string): T | undefined;
  /** Another writer creates or replaces the object, without a call in the log; gives what is stored. */
  put(object: T): T;
  /** Another writer removes the object. */
  remove(key: string): void;
  /** How many watches are open. */
  readonly watchers: number;
  /** Ends all watches: normally, or by throwing. */
  endWatches(error?: Error): void;
  /** Sends all watches a bookmark of the newest version. */
  bookmark(): void;
  /** Forgets the history: watches from older versions get OUT_OF_RANGE. */
  compact(): void;
  /** The newest version. */
  readonly resourceVersion: string;
}

export interface FakeResourceClientOptions<T> {
  /** For errors and for patches, e.g. "Pod". */
  readonly kind: string;
  readonly objects?: readonly T[];
  /** Pages of lists are this large unless the caller asks for less. */
  readonly pageSize?: number;
}

const keyOf = (key: ObjectKey): string => (key.namespace ? `${key.namespace}/${key.name}` : key.name);
const objectKeyOf = (object: ApiObject): string =>
  keyOf({ namespace: object.metadata?.namespace, name: object.metadata?.name ?? '' });

export function createFakeResourceClient<T extends ApiObject>(options: FakeResourceClientOptions<T>): FakeResourceClient<T> {
  const store = new Map<string, T>();
  const calls: FakeCall[] = [];
  const failures = new Map<FakeMethod, Error[]>();
  const watches = createFakeWatches<T>();
  let revision = 0;
  let uids = 0;

  const subject = (key: string) => ({ kind: options.kind, ...splitKey(key) });

  function enter(method: FakeMethod, target: string, argument: unknown, call: CallOptions | undefined): void {
    calls.push({ method, target, argument: structuredClone(argument) });
    const failure = failures.get(method)?.shift();
    if (failure) throw failure;
    if (call?.signal?.aborted) throw new ApiError('CANCELLED', 'Cancelled', `${method} ${options.kind}: aborted`);
  }

  function write(object: T): T {
    const key = objectKeyOf(object);
    const old = store.get(key);
    revision++;
    const metadata = { ...object.metadata, resourceVersion: String(revision) };
    metadata.uid = object.metadata?.uid ?? old?.metadata?.uid ?? `uid-${++uids}`;
    metadata.creationTimestamp ??= { seconds: 1_767_225_600 };
    const stored: T = structuredClone({ ...object, metadata });
    store.set(key, stored);
    watches.record(revision, old, stored);
    return structuredClone(stored);
  }

  function erase(key: string): T | undefined {
    const old = store.get(key);
    if (!old) return undefined;
    revision++;
    store.delete(key);
    watches.record(revision, old, undefined);
    return structuredClone(old);
  }

  function existing(key: string, version?: string, uid?: string): T {
    const old = store.get(key);
    if (!old) throw notFound(subject(key));
    if (version !== undefined && version !== old.metadata?.resourceVersion)
      throw conflict(subject(key), `based on version ${version}, stored is ${old.metadata?.resourceVersion}`);
    if (uid !== undefined && uid !== old.metadata?.uid) throw conflict(subject(key), `has another uid than ${uid}`);
    return old;
  }

  function page(scope: Scope): Page<T> {
    const all = [...store.entries()].filter(([, object]) => matchesScope(object, scope)).sort(([a], [b]) => (a < b ? -1 : 1));
    const limit = Math.min(scope.limit || Infinity, options.pageSize ?? Infinity);
    const from = scope.continue ? all.findIndex(([key]) => key > scope.continue!) : 0;
    const rest = from < 0 ? [] : all.slice(from);
    const items = rest.slice(0, limit);
    const more = rest.length > items.length ? items.at(-1)![0] : '';
    return {
      metadata: { resourceVersion: String(revision), continue: more },
      items: items.map(([, object]) => structuredClone(object)),
    };
  }

  for (const object of options.objects ?? []) write(object);

  return {
    calls,
    callLog: (...methods) =>
      calls
        .filter((call) => methods.length === 0 || methods.includes(call.method))
        .map((call) => `${call.method} ${call.target}`.trim()),
    failNext(method, error, times = 1) {
      failures.set(method, [...(failures.get(method) ?? []), ...Array<Error>(times).fill(error)]);
    },
    objects: () => structuredClone([...store.values()]),
    stored: (key) => structuredClone(store.get(key)),
    put: write,
    remove: (key) => void erase(key),
    get watchers() {
      return watches.size;
    },
    endWatches: watches.end,
    bookmark: () => watches.send([{ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(revision) } } as T }]),
    compact: () => watches.compact(revision),
    get resourceVersion() {
      return String(revision);
    },

    async create(object, writeOptions, call) {
      const named = withName(object, revision + 1);
      enter('create', objectKeyOf(named), object, call);
      if (store.has(objectKeyOf(named))) throw alreadyExists(subject(objectKeyOf(named)));
      return writeOptions?.dryRun?.length ? structuredClone(named) : write(named);
    },
    async get(key, call) {
      enter('get', keyOf(key), key, call);
      return structuredClone(existing(keyOf(key)));
    },
    async list(scope = {}, call) {
      enter('list', '', scope, call);
      return page(scope);
    },
    async *watch(scope, call): AsyncGenerator<WatchEvent<T>[]> {
      enter('watch', '', scope, call);
      const from = Number(scope.resourceVersion ?? revision);
      if (from < watches.compacted) throw expired(`version ${from} is older than what is kept`);
      yield* watches.open(from, scope, call.signal);
    },
    async update(object, _options, call) {
      enter('update', objectKeyOf(object), object, call);
      existing(objectKeyOf(object), object.metadata?.resourceVersion, object.metadata?.uid);
      return write(object);
    },
    async apply() {
      throw unimplemented('the fake keeps no managers of fields: test an apply against a server');
    },
    async updateStatus(object, _options, call) {
      enter('updateStatus', objectKeyOf(object), object, call);
      const old = existing(objectKeyOf(object), object.metadata?.resourceVersion, object.metadata?.uid);
      return write({ ...old, status: (object as { status?: unknown }).status });
    },
    async patch(target, patch, _options, call) {
      enter('patch', keyOf(target), patch, call);
      const { metadata = {} } = patch as ApiObject;
      const old = existing(keyOf(target), metadata.resourceVersion, metadata.uid);
      const { patchObject } = await import('./fake-patch.ts');
      return write(patchObject(options.kind, old, target, patch));
    },
    async delete(key, deleteOptions, call) {
      enter('delete', keyOf(key), deleteOptions, call);
      existing(keyOf(key), deleteOptions?.preconditions?.resourceVersion, deleteOptions?.preconditions?.uid);
      return erase(keyOf(key))!;
    },
  };
}

function withName<T extends ApiObject>(object: T, suffix: number): T {
  if (object.metadata?.name || !object.metadata?.generateName) return object;
  return { ...object, metadata: { ...object.metadata, name: `${object.metadata.generateName}${suffix}` } };
}
