import { toJson } from '../../api/codec/json.ts';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { badRequest, unimplemented } from '../../api/errors/index.ts';
import type {
  DeleteCollectionRequest,
  DeleteOptions,
  DeleteRequest,
  FindVersionRequest,
  FindVersionResponse,
  GetRequest,
  ListRequest,
  ObjectHistoryRequest,
  PatchRequest,
  WatchRequest,
  WriteOptions,
} from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { AccessVerb } from '../authz/attributes.ts';
import { SelectorRoom } from '../limits/selector-room.ts';
import { noteRequester } from '../pki/requester.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { createObject } from '../registry/create.ts';
import { decodeObject } from '../registry/decode.ts';
import { deleteObject } from '../registry/delete.ts';
import { deleteCollection } from '../registry/delete-collection.ts';
import { findVersion } from '../registry/find-version.ts';
import { objectHistory } from '../registry/history.ts';
import type { KindStore, ObjectName, StoreResult } from '../registry/kind-store.ts';
import { listObjects, MAX_PAGE_BYTES } from '../registry/list.ts';
import { patchObject } from '../registry/patch.ts';
import { getObject, type Registry } from '../registry/registry.ts';
import { nameOf, updateObject, updateStatus, updateSubresource, writeTargetOf } from '../registry/update.ts';
import { prepareWatch } from '../registry/watch-objects.ts';
import type { WriteContext } from '../registry/write-context.ts';
import { systemBatchClock } from '../watch/event-batcher.ts';
import type { EventFormat } from '../watch/event-format.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { Ticker } from '../watch/ticker.ts';
import { Turns } from '../watch/turns.ts';
import type { CallContext } from './call-context.ts';
import type { ListForm } from './list-form.ts';
import { ListGate, type ListLimits, type ListPass } from './list-gate.ts';
import { PastReads } from './past-reads.ts';
import type { Pieces } from './pieces.ts';
import { readAccess } from './read-access.ts';
import { WatchMeters } from './watch-meter.ts';
import { pumpWatch, type WatchLimits } from './watch-pump.ts';
import type { WatchSink } from './watch-sink.ts';
import { writeContext } from './write-request.ts';

/** A write, as the typed or the generic service decoded it. */
export interface WriteInput {
  readonly object: Uint8Array;
  readonly format: 'protobuf' | 'json';
  readonly options: WriteOptions;
  /** Of an update: a subresource of the object. */
  readonly subresource?: string;
  /** For an object that names no namespace. */
  readonly namespace?: string;
}

export type WriteVerb = 'create' | 'update' | 'updateStatus';

/** A write that was read and admitted, but not started. */
export interface PreparedWrite {
  /** What it is about; a name that is still to be generated is empty. */
  readonly at: ObjectName;
  run(): Promise<StoreResult>;
}

export interface VerbsOptions {
  readonly registry: Registry;
  readonly watchLimits: WatchLimits;
  readonly listLimits: ListLimits;
  readonly random: () => number;
  readonly metrics: MetricsRegistry;
}

/** The standard verbs between the services (typed and generic) and the registry: decode, authorize, call. */
export class Verbs {
  private readonly options: VerbsOptions;
  private readonly lists: ListGate;
  private readonly selectors = new SelectorRoom();
  private readonly past: PastReads;
  private readonly ticker: Ticker;
  private readonly turns: Turns;
  private readonly meters: WatchMeters;

  constructor(options: VerbsOptions) {
    this.options = options;
    this.lists = new ListGate(options.listLimits, options.random);
    this.past = new PastReads(options.registry);
    this.meters = new WatchMeters(options.metrics, this.lists);
    this.turns = new Turns(setImmediate);
    this.ticker = new Ticker(systemBatchClock, tickMs(options.watchLimits));
  }

  async create(store: KindStore, input: WriteInput, call: CallContext): Promise<StoreResult> {
    return this.prepareWrite('create', store, input, call).run();
  }

  async update(store: KindStore, input: WriteInput, call: CallContext): Promise<StoreResult> {
    return this.prepareWrite('update', store, input, call).run();
  }

  async updateStatus(store: KindStore, input: WriteInput, call: CallContext): Promise<StoreResult> {
    return this.prepareWrite('updateStatus', store, input, call).run();
  }

  /** The first half of create, update and updateStatus: decodes the object and lets its writer in. */
  prepareWrite(verb: WriteVerb, store: KindStore, input: WriteInput, call: CallContext): PreparedWrite {
    const { subresource = '' } = input;
    if (subresource !== '') {
      if (verb !== 'update') throw badRequest(`a subresource is updated or patched: "${subresource}" is of no use here`);
      writeTargetOf(store, subresource);
      if (subresource === 'status') return this.prepareWrite('updateStatus', store, { ...input, subresource: '' }, call);
    }
    if (verb === 'updateStatus' && !store.kind.hasStatus)
      throw unimplemented(`${store.kind.plural} have no status subresource: use Update`);
    const access = verb === 'updateStatus' ? 'update-status' : subresource === '' ? verb : (`update-${subresource}` as const);
    const enter = (): EnteredWrite => enterWrite(access, store, input, call);
    let entered: EnteredWrite | undefined = enter();
    const at = nameOf(entered.object);
    // Hands the decoded object on: it is not retained while the disk is waited for, and an attempt to create changes
    // it.
    const take = (): EnteredWrite => {
      const taken = entered ?? enter();
      entered = undefined;
      return taken;
    };
    const write = (how: typeof updateObject): Promise<StoreResult> => {
      const { object, context } = take();
      return how(store, object, this.admitting(store, context));
    };
    const run = {
      create: () => createObject(store, this.options.registry.admission, take),
      update: () =>
        write(subresource === '' ? updateObject : (...sent) => updateSubresource(sent[0], subresource, sent[1], sent[2])),
      updateStatus: () => write(updateStatus),
    };
    return { at, run: answering(call, store, run[verb]) };
  }

  async get(store: KindStore, request: GetRequest, call: CallContext): Promise<StoreResult> {
    const at = checkName(store, request);
    const access = { verb: 'get', kind: store.id, ...at } as const;
    call.authorize(access);
    await this.past.checkExact(request, access, call);
    const { bytes } = await getObject(store, at, request);
    return { bytes, warnings: [] };
  }

  /** One page, encoded. It has its turn when there is room for it, and keeps the room until the client has taken it. */
  async list(store: KindStore, request: ListRequest, form: ListForm, call: CallContext): Promise<Buffer | Pieces> {
    const { namespace = '', options = {} } = request;
    const access = readAccess('list', store, namespace, options);
    call.authorize(access);
    await this.past.checkList(store, options, access, call);
    const room = { guess: pageBytes(store.cache, options.limit, form), most: form.mostBytes };
    return this.inTurn(room, call, async () => form.encode(await listObjects(store, { namespace, options }, form.sizeOf)));
  }

  /**
   * One page of an object's history, as a list. A caller that may read an object may read what it was, as far as
   * PastReads allows.
   */
  async history(store: KindStore, request: Omit<ObjectHistoryRequest, 'kind'>, call: CallContext): Promise<Buffer | Pieces> {
    const { limit = 0, continue: token = '', wholeValues = false } = request;
    const at = checkName(store, request);
    const access = { verb: 'get', kind: store.id, ...at } as const;
    call.authorize(access);
    const since = await this.past.oldest(access, call);
    return this.inTurn({ guess: MAX_PAGE_BYTES, most: MAX_PAGE_BYTES }, call, async () => {
      const page = await objectHistory(store, at, { limit, continue: token, wholeValues, since });
      return encodeMessage('berth.meta.v1.ObjectHistoryResponse', page);
    });
  }

  /** `guess` is what an answer may take before it is made, `most` what it takes at most. */
  private async inTurn(
    room: { readonly guess: number; readonly most: number },
    call: CallContext,
    read: () => Promise<Buffer | Pieces>,
  ): Promise<Buffer | Pieces> {
    const pass = await this.enterList(room.guess, call);
    try {
      const bytes = await read();
      pass.resize(Math.min(bytes.length, room.most));
      call.whenTaken(this.options.listLimits.takeMs, () => pass.leave());
      return bytes;
    } catch (error) {
      pass.leave();
      throw error;
    }
  }

  private enterList(bytes: number, call: CallContext): Promise<ListPass> {
    return this.lists.enter({ flow: call.flow, bytes, signal: () => call.signal });
  }

  findVersion(request: FindVersionRequest, now: Date): Promise<FindVersionResponse> {
    return findVersion(this.options.registry.storage, request, now);
  }

  async patch(store: KindStore, request: PatchRequest, call: CallContext): Promise<StoreResult> {
    return this.preparePatch(store, request, call).run();
  }

  /** The first half of patch. */
  preparePatch(store: KindStore, request: PatchRequest, call: CallContext): PreparedWrite {
    const at = checkName(store, request);
    if (request.subresource === 'status' && !store.kind.hasStatus)
      throw unimplemented(`${store.kind.plural} have no status subresource`);
    const { type = '', patch = Buffer.alloc(0), subresource = '' } = request;
    writeTargetOf(store, subresource);
    const context = admit(call, subresource === '' ? 'patch' : `patch-${subresource}`, store, at, request.options);
    if (call.audited?.wantsRequest) call.audited.request(readPatch(patch));
    const run = () => patchObject(store, { at, type, patch, subresource }, this.admitting(store, context));
    return { at, run: answering(call, store, run) };
  }

  private admitting({ kind }: KindStore, context: WriteContext): WriteContext {
    const { admission } = this.options.registry;
    return { ...context, admitChange: async (next, previous) => admission.update?.(kind, next, previous) };
  }

  async delete(store: KindStore, request: DeleteRequest, call: CallContext): Promise<StoreResult> {
    return this.prepareDelete(store, request, call).run();
  }

  /** The first half of delete. */
  prepareDelete(store: KindStore, request: DeleteRequest, call: CallContext): PreparedWrite {
    const at = checkName(store, request);
    const context = admit(call, 'delete', store, at, dryRunOf(request.options));
    if (call.audited?.wantsRequest) call.audited.request(request.options ?? {});
    return { at, run: answering(call, store, () => deleteObject(store, at, request.options ?? {}, context)) };
  }

  async deleteCollection(store: KindStore, request: DeleteCollectionRequest, call: CallContext): Promise<number> {
    const namespace = request.namespace ?? '';
    if (store.kind.namespaced && !namespace)
      throw badRequest(`cannot delete ${store.kind.plural} of all namespaces at once: name one`);
    const { listOptions = {}, options = {} } = request;
    const access = readAccess('delete-collection', store, namespace, listOptions);
    const context = admit(call, 'delete-collection', store, { namespace, name: '' }, dryRunOf(options), access.selected);
    await this.past.checkList(store, listOptions, access, call);
    return deleteCollection(store, { namespace, listOptions, options }, context, call.signal);
  }

  async watch(
    store: KindStore,
    request: WatchRequest,
    format: EventFormat,
    sink: WatchSink,
    context: CallContext,
  ): Promise<void> {
    const options = request.options ?? {};
    const access = readAccess('watch', store, request.namespace ?? '', options);
    context.authorize(access);
    await this.past.checkWatch(options, access, context);
    const { watchLimits: limits, random } = this.options;
    const forget = this.selectors.hold(context.flow, options);
    try {
      const prepared = await prepareWatch(store, request.namespace ?? '', options, format);
      // Before it is opened: a watch that waits for its turn holds no objects.
      const pass = prepared.hasInitial ? await this.enterList(INITIAL_BYTES, context) : undefined;
      await pumpWatch(sink, prepared.open(), {
        bookmarks: options.allowWatchBookmarks === true,
        timeoutSeconds: options.timeoutSeconds,
        limits,
        random,
        signal: context.signal,
        batcher: store.cache.batcher,
        ticker: this.ticker,
        turns: this.turns,
        meter: this.meters.of(store.kind.plural),
        onStarted: () => pass?.leave(),
      });
    } finally {
      forget();
    }
  }
}

/** What a watch that begins with the present objects has on its way. */
const INITIAL_BYTES = 256 * 1024;
/** JSON and tables are larger than what is stored; what a page takes in fact is known when it is made. */
const LARGEST_FORM = 3;

/** What a page may take, before it is made. */
function pageBytes({ bytes, size }: KindCache, limit: number | undefined, form: ListForm): number {
  const share = limit && limit > 0 && limit < size ? limit / size : 1;
  return Math.min(Math.ceil(bytes * share * LARGEST_FORM), form.mostBytes);
}

/** Often enough for the shortest of the limits, and seldom enough to cost nothing. */
function tickMs({ bookmarkMs, maxAgeMs, stallMs }: WatchLimits): number {
  return Math.max(10, Math.min(500, bookmarkMs / 4, maxAgeMs / 4, stallMs / 4));
}

interface EnteredWrite {
  readonly object: AnyObject;
  readonly context: WriteContext;
}

function enterWrite(verb: AccessVerb, store: KindStore, input: WriteInput, call: CallContext): EnteredWrite {
  const { kind } = store;
  const object: AnyObject = decodeObject(kind, input.object, input.format);
  const { namespace } = input;
  if (namespace && kind.namespaced && !object.metadata?.namespace) object.metadata = { ...object.metadata, namespace };
  const at = nameOf(object);
  const context = admit(call, verb, store, at, input.options);
  if (call.audited?.wantsRequest) call.audited.request(toJson(kind, object));
  if (verb === 'create') {
    call.authorizer.authorizeCreate(call.identity, { verb, kind: store.id, ...at }, object);
    noteRequester(store.id, object, call.identity);
    const mayWriteStatus = () => call.authorizer.may(call.identity, { verb: 'update-status', kind: store.id, ...at });
    if (kind.isCreatedWithStatus && object.status !== undefined && !mayWriteStatus()) delete object.status;
  }
  return { object, context };
}

/** Tells the audit log what a write comes to, where it wants to know. */
function answering({ audited }: CallContext, { kind }: KindStore, run: PreparedWrite['run']): PreparedWrite['run'] {
  if (!audited?.wantsResponse) return run;
  return async () => {
    const result = await run();
    audited.response(toJson(kind, decodeMessage<ApiObject>(kind.message, result.bytes)));
    return result;
  };
}

function readPatch(patch: Uint8Array): unknown {
  const text = Buffer.from(patch).toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    // It is refused, and what was sent is told all the same.
    return text;
  }
}

/**
 * Lets a write in: who writes, checked as far as it can be before the object is read. Throws PERMISSION_DENIED and
 * INVALID_ARGUMENT.
 */
function admit(
  call: CallContext,
  verb: AccessVerb,
  { id: kind }: KindStore,
  at: ObjectName,
  options: WriteOptions | undefined,
  selected?: Readonly<Record<string, string>>,
): WriteContext {
  const access = { verb, kind, ...at, selected };
  call.authorize(access);
  const { identity, authorizer } = call;
  const context = writeContext(options, call);
  if (context.dryRun) call.audited?.unchanged();
  return {
    ...context,
    authorizeChange: (previous) => authorizer.authorizeChange(identity, access, previous),
    authorizeNext: (next, previous) => authorizer.authorizeNext(identity, access, next, previous),
  };
}

function dryRunOf(options: DeleteOptions | undefined): WriteOptions {
  return options?.dryRun ? { dryRun: options.dryRun } : {};
}

/** The name that a request for one object must give. */
export function checkName({ kind }: KindStore, request: { namespace?: string; name?: string }): ObjectName {
  const { namespace = '', name = '' } = request;
  if (!name) throw badRequest(`name the ${kind.singular}`);
  if (kind.namespaced && !namespace) throw badRequest(`name the namespace of ${kind.singular} "${name}"`);
  if (!kind.namespaced && namespace) throw badRequest(`${kind.plural} do not live in namespaces: leave the namespace empty`);
  if (name.includes('/') || namespace.includes('/')) throw badRequest(`"${namespace}/${name}" is not a name`);
  return { namespace, name };
}
