import type { DeleteOptions, ListMeta, ListOptions, Scale, WriteOptions } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';

/** Names an object; `namespace` is absent for kinds without one. */
export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** An object, and as of which version: the newest, at least this one, or with "Exact" as it was at this one. */
export interface VersionedKey extends ObjectKey {
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}

/** Which objects: absent `namespace` means all of them. */
export interface Scope extends ListOptions {
  readonly namespace?: string | undefined;
}

export interface Page<T> {
  readonly metadata: ListMeta;
  readonly items: T[];
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

export interface WatchEvent<T> {
  readonly type: WatchEventType;
  readonly object: T;
}

export interface CallOptions {
  /** Ends the call; it then throws ApiError CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /** The call fails with DEADLINE_EXCEEDED after so many milliseconds (default 30,000; streams have none). */
  readonly timeoutMs?: number | undefined;
  /**
   * Names the call in the logs of all that work on it: letters, digits and ._:/+=-, at most 64.
   * Without one the server makes one up.
   */
  readonly requestId?: string | undefined;
}

/** A kind whose objects have a scale. */
export type ScalableKind<T extends ApiObject> = Kind<T> & Required<Pick<Kind<T>, 'scale'>>;

/** The client of a kind whose objects keep a number of pods, which can be changed by itself. */
export interface ScalableClient<T extends ApiObject> extends ResourceClient<T> {
  /** How many pods an object wants and has. */
  scale(key: VersionedKey, call?: CallOptions): Promise<Scale>;
  /**
   * Changes how many pods an object wants. ABORTED: `metadata.resourceVersion` is given, and not the newest any more.
   */
  updateScale(scale: Scale, options?: WriteOptions, call?: CallOptions): Promise<Scale>;
  /** The same by a merge patch of the Scale, or what the target says. */
  patchScale(target: PatchTarget, patch: object, options?: WriteOptions, call?: CallOptions): Promise<Scale>;
}

/** Options of a write through the generic service; `namespace` is where the object goes when it names none itself. */
export interface ObjectWriteOptions extends WriteOptions {
  readonly namespace?: string | undefined;
  /** Of an update: the part of the object that is replaced. */
  readonly subresource?: string | undefined;
}

/** Options of a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** Who owns the fields of the configuration. */
  readonly fieldManager: string;
  /** Takes fields over from other managers, instead of failing. */
  readonly force?: boolean;
  /** "status"; absent: the object. */
  readonly subresource?: string | undefined;
}

/** The same through the generic service; `namespace` is where the object is when it names none itself. */
export interface ObjectApplyOptions extends ApplyOptions {
  readonly namespace?: string | undefined;
}

/** RFC 7396; Kubernetes' merge of lists by key; RFC 6902, a list of operations; a server-side apply's configuration. */
export type PatchType = 'merge' | 'strategic' | 'json' | 'apply';

export interface PatchTarget extends ObjectKey {
  /**
   * "status" or another subresource of the kind ("resize" of a pod); absent: the object. "scale" through the generic
   * service alone: the typed clients have `patchScale`.
   */
  readonly subresource?: string | undefined;
  /** What the patch is; absent: a merge patch. */
  readonly type?: PatchType | undefined;
}

/**
 * Talks to the API server about one kind. Every method throws ApiError and nothing else. Objects are plain values in
 * the shape of their messages: times are {seconds, nanos}, quantities {string}, absent is absent.
 */
export interface ResourceClient<T extends ApiObject> {
  create(object: T, options?: WriteOptions, call?: CallOptions): Promise<T>;
  get(key: VersionedKey, call?: CallOptions): Promise<T>;
  /** One page, as large as `limit` and the server allow; `metadata.continue` asks for the next. */
  list(scope?: Scope, call?: CallOptions): Promise<Page<T>>;
  /**
   * Batches of changes until aborted (then it throws CANCELLED) or until the server ends the stream (then it returns).
   */
  watch(scope: Scope, call: CallOptions): AsyncIterable<WatchEvent<T>[]>;
  update(object: T, options?: WriteOptions, call?: CallOptions): Promise<T>;
  updateStatus(object: T, options?: WriteOptions, call?: CallOptions): Promise<T>;
  /** A JSON merge patch, or what the target says, given in the object's JSON form. */
  patch(target: PatchTarget, patch: object, options?: WriteOptions, call?: CallOptions): Promise<T>;
  /**
   * Kubernetes' server-side apply: the fields of the object are the manager's from now on, those that it applied before
   * and leaves out are removed unless others own them, and all others stay. Makes the object where there is none.
   * ABORTED, with a violation for each field: others own fields with other values.
   */
  apply(object: T, options: ApplyOptions, call?: CallOptions): Promise<T>;
  delete(key: ObjectKey, options?: DeleteOptions, call?: CallOptions): Promise<T>;
}
