import { JsonMemory } from '../../../api/codec/json-memory.ts';
import { JsonOutput } from '../../../api/codec/json-output.ts';
import type { ListMeta, ListOptions, ListRequest } from '../../../api/generated/types.ts';
import type { CallChain } from '../../calls/call-chain.ts';
import type { OpenCall } from '../../calls/open-call.ts';
import { joinWarnings } from '../../calls/warnings.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { type ListPage, MAX_PAGE_BYTES } from '../../registry/reads/list.ts';
import type { ListForm } from '../../verbs/list-form.ts';
import type { PreparedCall } from '../../verbs/prepared-call.ts';
import type { Entry } from '../../watch/entry.ts';
import type { HttpCall, HttpResponse } from '../http-call.ts';
import type { AnswerOutput } from './answer-encoding.ts';
import type { ItemForm } from './object-forms.ts';
import type { ListLayout } from './pretty-json.ts';

export interface ListWish<Form = ItemForm> {
  readonly store: KindStore;
  readonly namespace: string;
  readonly options: ListOptions;
  readonly form: Form;
}

export interface ListWay {
  /** Prepares one page. */
  readonly page: (request: ListRequest, form: ListForm) => PreparedCall;
  readonly chain: CallChain;
  readonly call: HttpCall;
  readonly context: OpenCall;
  readonly response: HttpResponse;
  /** Writes the head of the answer, which has so many bytes at least. */
  begin(warnings: readonly string[], atLeast: number): AnswerOutput;
}

/** The items of one page as JSON, separated by commas; and what the page says of itself. */
class PageForm implements ListForm {
  readonly mostBytes = MAX_PAGE_BYTES;
  readonly pageBytes: number;
  metadata: ListMeta = {};
  readonly #store: KindStore;
  readonly #form: ItemForm;
  readonly #out: JsonOutput;
  /** The offset at which each written item ends. */
  readonly #ends: number[] = [];

  /** Writes into `out`, over the page before. */
  constructor(store: KindStore, form: ItemForm, pageBytes: number, out: JsonOutput) {
    this.#store = store;
    this.#form = form;
    this.pageBytes = pageBytes;
    this.#out = out;
    out.rewind(0);
  }

  /** Writes it as well; the last one may not fit the page. */
  sizeOf(entry: Entry): number {
    const out = this.#out;
    const start = out.size;
    if (this.#ends.length > 0) out.comma();
    this.#form.writeItem(this.#store, entry, out);
    this.#ends.push(out.size);
    return out.size - start;
  }

  encode({ metadata, items }: ListPage): Buffer {
    this.metadata = metadata;
    return this.#out.bytes.subarray(0, items.length > 0 ? this.#ends[items.length - 1] : 0);
  }
}

/** Large enough to amortise what a page costs, small enough for others to have their turn within milliseconds. */
const CHUNK_BYTES = 512 * 1024;
const START_BYTES = 64 * 1024;

/**
 * Answers a list as one document. Without a limit that is the whole list, at one revision, though it is read page by
 * page: the next one is made when the client has taken the one before. Clients that send no limit ignore `continue`.
 */
export async function sendList({ store, namespace, options, form }: ListWish, way: ListWay, layout: ListLayout): Promise<void> {
  const { chain, call, context, response, begin } = way;
  const isWhole = !options.limit;
  let next = options;
  const buffer = new JsonOutput(START_BYTES, new JsonMemory());
  let out: AnswerOutput | undefined;
  for (;;) {
    const page = new PageForm(store, form, isWhole ? CHUNK_BYTES : MAX_PAGE_BYTES, buffer);
    const wanted = { namespace, options: next };
    const prepared = chain.prepare(context, () => way.page(wanted, pageFormOf(page)));
    const { bytes, warnings } = await prepared.run();
    const { continue: token, ...metadata } = page.metadata;
    if (!out) {
      // A list of several pages is at least a full one.
      out = begin(joinWarnings(warnings, context.warnings), isWhole && token ? MAX_PAGE_BYTES : bytes.length);
      const { remainingItemCount: _, ...whole } = metadata;
      out.write(layout.begin(form.listHead(store, isWhole ? whole : page.metadata), form.items));
    } else if (bytes.length > 0) out.write(layout.between);
    await out.write(layout.page(bytes as Buffer));
    call.taken();
    if (response.destroyed) return;
    if (!isWhole || !token) break;
    next = { ...pageOptions(options), continue: token };
  }
  out.end(layout.end);
}

/** The methods of a form are called without it. */
export const pageFormOf = (page: ListForm & { sizeOf(entry: Entry): number }): ListForm => ({
  mostBytes: page.mostBytes,
  ...(page.pageBytes === undefined ? {} : { pageBytes: page.pageBytes }),
  sizeOf: (entry) => page.sizeOf(entry),
  encode: (found) => page.encode(found),
});

/** What the pages behind the first keep: which version they show stands in the token. */
export function pageOptions({ labelSelector, fieldSelector }: ListOptions): ListOptions {
  return { ...(labelSelector ? { labelSelector } : {}), ...(fieldSelector ? { fieldSelector } : {}) };
}
