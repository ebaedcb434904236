import { encodeMessage } from '../../api/codec/message.ts';
import { badRequest } from '../../api/errors/index.ts';
import type {
  DeleteCollectionRequest,
  FindVersionRequest,
  FindVersionResponse,
  GetRequest,
  ListOptions,
  ListRequest,
  ObjectHistoryRequest,
  WatchRequest,
} from '../../api/generated/types.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { scaleKind } from '../../api/kinds/scale.ts';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { Access } from '../authz/attributes.ts';
import { andThen, type Eventually } from '../eventually.ts';
import { SelectorRoom } from '../limits/selector-room.ts';
import { WatchRoom } from '../limits/watch-room.ts';
import { APPLY_TYPES } from '../registry/apply/apply-config.ts';
import { type DeletedCollection, deleteCollection } from '../registry/delete-collection.ts';
import type { KindStore } from '../registry/kind-store.ts';
import { findVersion } from '../registry/reads/find-version.ts';
import { objectHistory } from '../registry/reads/history.ts';
import { listObjects, MAX_PAGE_BYTES } from '../registry/reads/list.ts';
import { prepareWatch } from '../registry/reads/watch-objects.ts';
import { getObject, type Registry } from '../registry/registry.ts';
import { getScale } from '../registry/scale.ts';
import { servedBytes, servedKind, storedSelection, versionWarnings } from '../registry/store-version.ts';
import { shownBytes } from '../registry/stored-versions.ts';
import { systemBatchClock } from '../watch/event-batcher.ts';
import type { EventFormat } from '../watch/event-format.ts';
import type { KindCache } from '../watch/kind-cache.ts';
import { Ticker } from '../watch/ticker.ts';
import { Turns } from '../watch/turns.ts';
import { ApplyWrite } from './apply-write.ts';
import type { CallContext } from './call-context.ts';
import { AuthorizedWrite, deleteWriteOptions } from './call-write.ts';
import { checkName } from './check-name.ts';
import type { ListForm } from './list-form.ts';
import { ListGate, type ListLimits, type ListPass } from './list-gate.ts';
import type { ObjectForm } from './object-format.ts';
import { PastReads } from './past-reads.ts';
import type { Pieces } from './pieces.ts';
import type { PreparedCall, PreparedWatch, Reply } from './prepared-call.ts';
import { readAccess } from './read-access.ts';
import { DeleteWrite, ObjectWrite, PatchWrite, type PreparedWrite } from './standard-writes.ts';
import { WatchMeters } from './watch-meter.ts';
import { pumpWatch, type WatchLimits } from './watch-pump.ts';
import type { DeleteWriteRequest, PatchWriteRequest, WriteRequest } from './write-request.ts';

export interface VerbsOptions {
  readonly registry: Registry;
  readonly watchLimits: WatchLimits;
  readonly listLimits: ListLimits;
  readonly random: () => number;
  readonly metrics: MetricsRegistry;
}

/**
 * The standard verbs between the services of a transport and the registry. Each has two halves: the first decodes and
 * authorizes, and has no effect; `run` carries the call out.
 */
export class Verbs {
  readonly #options: VerbsOptions;
  readonly #lists: ListGate;
  readonly #selectors = new SelectorRoom();
  readonly #past: PastReads;
  readonly #ticker: Ticker;
  readonly #turns: Turns;
  readonly #watchRoom: WatchRoom;
  readonly #meters: WatchMeters;

  constructor(options: VerbsOptions) {
    this.#options = options;
    this.#lists = new ListGate(options.listLimits, options.random);
    this.#past = new PastReads(options.registry);
    this.#meters = new WatchMeters(options.metrics, this.#lists);
    this.#turns = new Turns(setImmediate);
    this.#watchRoom = new WatchRoom(this.#turns);
    this.#ticker = new Ticker(systemBatchClock, tickMs(options.watchLimits));
  }

  write(request: WriteRequest, call: CallContext): PreparedWrite {
    return new ObjectWrite(request, this.#options.registry.admission, call);
  }

  patch(request: PatchWriteRequest, call: CallContext): PreparedWrite {
    const { admission } = this.#options.registry;
    return APPLY_TYPES.includes(request.patch.type ?? '')
      ? new ApplyWrite(request, admission, call)
      : new PatchWrite(request, admission, call);
  }

  delete(request: DeleteWriteRequest, call: CallContext): PreparedWrite {
    return new DeleteWrite(request, call);
  }

  /** Without a form the answer is what is stored. */
  get(store: KindStore, request: GetRequest, call: CallContext, form?: ObjectForm): PreparedCall {
    const at = checkName(store, request);
    const access = { verb: 'get', ...store.asked, ...at } as const;
    call.authorize(access);
    return {
      run: () => {
        const found = andThen(this.#past.checkExact(request, access, call), () => getObject(store, at, request));
        const shown = andThen(
          found,
          ({ bytes, key }): Eventually<Buffer> => (store.versions.of ? shownBytes(store, bytes, key) : bytes),
        );
        return andThen(shown, (bytes): Reply => {
          if (!form) return { bytes };
          return { bytes: form.encode(servedKind(store), servedBytes(store, bytes)), warnings: versionWarnings(store) };
        });
      },
    };
  }

  /** The same of an object's Scale. */
  getScale(store: KindStore, request: GetRequest, call: CallContext, form?: ObjectForm): PreparedCall {
    const at = checkName(store, request);
    const access = { verb: 'get-scale', ...store.asked, ...at } as const;
    call.authorize(access);
    return {
      run: async () => {
        await this.#past.checkExact(request, access, call);
        const { bytes } = await getScale(store, at, request);
        return form ? { bytes: form.encode(scaleKind as Kind, bytes) } : { bytes };
      },
    };
  }

  /** One page, encoded. It has its turn when there is room for it, and keeps the room until the client has taken it. */
  list(store: KindStore, request: ListRequest, form: ListForm, call: CallContext): PreparedCall {
    const { namespace = '' } = request;
    const options = storedSelection(store, request.options ?? {});
    const access = readAccess('list', store, namespace, options);
    return this.#page({ store, namespace, options, form, access }, call);
  }

  /**
   * The same of what a deletion of the collection listed, by the token that it gave: Kubernetes shows it to callers
   * that may delete it.
   */
  listDeleted(store: KindStore, request: ListRequest, form: ListForm, call: CallContext): PreparedCall {
    const { namespace = '' } = request;
    const options = storedSelection(store, request.options ?? {});
    const access = readAccess('delete-collection', store, namespace, options);
    return this.#page({ store, namespace, options, form, access }, call);
  }

  #page({ store, namespace, options, form, access }: WantedPage, call: CallContext): PreparedCall {
    call.authorize(access);
    return {
      run: async () => {
        await this.#past.checkList(store, options, access, call);
        const room = { guess: pageBytes(store.cache, options.limit, form), most: form.mostBytes };
        const read = async () => form.encode(await listObjects(store, { namespace, options }, form));
        return { bytes: await this.#inTurn(room, call, read), warnings: versionWarnings(store) };
      },
    };
  }

  /**
   * One page of an object's history, as a list. A caller that may read an object may read what it was, as far as
   * PastReads allows.
   */
  history(store: KindStore, request: Omit<ObjectHistoryRequest, 'kind'>, call: CallContext): PreparedCall {
    const { limit = 0, continue: token = '', wholeValues = false } = request;
    const at = checkName(store, request);
    const access = { verb: 'get', ...store.asked, ...at } as const;
    call.authorize(access);
    return {
      run: async () => {
        const since = await this.#past.oldest(access, call);
        const read = async () => {
          const page = await objectHistory(store, at, { limit, continue: token, wholeValues, since });
          return encodeMessage('berth.meta.v1.ObjectHistoryResponse', page);
        };
        return { bytes: await this.#inTurn({ guess: MAX_PAGE_BYTES, most: MAX_PAGE_BYTES }, call, read) };
      },
    };
  }

  /** `guess` is what an answer may take before it is made, `most` what it takes at most. */
  async #inTurn(
    room: { readonly guess: number; readonly most: number },
    call: CallContext,
    read: () => Promise<Buffer | Pieces>,
  ): Promise<Buffer | Pieces> {
    const pass = await this.#enterList(room.guess, call);
    try {
      const bytes = await read();
      pass.resize(Math.min(bytes.length, room.most));
      call.whenTaken(this.#options.listLimits.takeMs, () => pass.leave());
      return bytes;
    } catch (error) {
      pass.leave();
      throw error;
    }
  }

  #enterList(bytes: number, call: CallContext): Promise<ListPass> {
    return this.#lists.enter({ flow: call.flow, bytes, signal: () => call.signal });
  }

  findVersion(request: FindVersionRequest, now: Date): Promise<FindVersionResponse> {
    return findVersion(this.#options.registry.storage, request, now);
  }

  /** Answers how many were deleted. */
  deleteCollection(store: KindStore, request: DeleteCollectionRequest, call: CallContext): PreparedCall {
    const prepared = this.deletion(store, request, call);
    return {
      run: async () => {
        const { deleted } = await prepared.run();
        return { bytes: encodeMessage('berth.meta.v1.DeleteCollectionResponse', { deleted }) };
      },
    };
  }

  /** The same, for an answer with what was deleted: see listDeleted. */
  deletion(store: KindStore, request: DeleteCollectionRequest, call: CallContext): { run(): Promise<DeletedCollection> } {
    const { namespace = '', options = {} } = request;
    const listOptions = storedSelection(store, request.listOptions ?? {});
    if (store.kind.namespaced && !namespace)
      throw badRequest(`cannot delete ${store.kind.plural} of all namespaces at once: name one`);
    const access = readAccess('delete-collection', store, namespace, listOptions);
    const write = new AuthorizedWrite(access, deleteWriteOptions(options), call);
    return {
      run: async () => {
        await this.#past.checkList(store, listOptions, access, call);
        return deleteCollection(store, { namespace, listOptions, options }, write, call.signal);
      },
    };
  }

  watch(store: KindStore, request: WatchQuestion, format: EventFormat, call: CallContext): PreparedWatch {
    const { namespace = '', awaitsVersion = false } = request;
    const options = storedSelection(store, request.options ?? {});
    const access = readAccess('watch', store, namespace, options);
    call.authorize(access);
    return {
      run: async (sink) => {
        await this.#past.checkWatch(options, access, call);
        const forget = this.#selectors.hold(call.flow, options);
        try {
          const prepared = await prepareWatch(store, namespace, { options, awaitsVersion }, format);
          // Before it is opened: a watch that waits for its turn holds no objects.
          const pass = prepared.hasInitial ? await this.#enterList(INITIAL_BYTES, call) : undefined;
          await pumpWatch(sink, prepared.open(), {
            bookmarks: options.allowWatchBookmarks === true,
            timeoutSeconds: options.timeoutSeconds,
            limits: this.#options.watchLimits,
            random: this.#options.random,
            signal: call.signal,
            batcher: store.cache.batcher,
            ticker: this.#ticker,
            turns: this.#turns,
            meter: this.#meters.of(resourceOf(store.kind)),
            room: this.#watchRoom.of(call.flow),
            onStarted: () => pass?.leave(),
          });
        } finally {
          forget();
        }
      },
    };
  }
}

/** A watch, as a transport asks for it. */
export interface WatchQuestion extends WatchRequest {
  /** Waits for a version of the future, as Kubernetes does; else such a version is expired. */
  readonly awaitsVersion?: boolean;
}

interface WantedPage {
  readonly store: KindStore;
  readonly namespace: string;
  readonly options: ListOptions;
  readonly form: ListForm;
  readonly access: Access;
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
