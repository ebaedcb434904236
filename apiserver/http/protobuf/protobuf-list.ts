import { encodeMessage } from '../../../api/codec/message.ts';
import { fieldSize } from '../../../api/codec/wire-format.ts';
import type { ListMeta, ListOptions } from '../../../api/generated/types.ts';
import { joinWarnings } from '../../calls/warnings.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { type ListPage, MAX_PAGE_BYTES } from '../../registry/reads/list.ts';
import type { ListForm } from '../../verbs/list-form.ts';
import { listPieces } from '../../verbs/list-response.ts';
import type { Entry } from '../../watch/entry.ts';
import type { AnswerOutput } from '../answers/answer-encoding.ts';
import { type ListWay, type ListWish, pageFormOf, pageOptions } from '../answers/list-stream.ts';
import { envelopeHead } from './kubernetes-protobuf.ts';
import type { ProtobufForm } from './protobuf-forms.ts';

/** The items of one page. Stored bytes that memory holds anyhow cost it nothing, so any number of them is one page. */
class ItemPage implements ListForm {
  readonly mostBytes = MAX_PAGE_BYTES;
  metadata: ListMeta = {};
  items: readonly Uint8Array[] = [];
  readonly #store: KindStore;
  readonly #form: ProtobufForm;
  readonly #made = new Map<Entry, Uint8Array>();

  constructor(store: KindStore, form: ProtobufForm) {
    this.#store = store;
    this.#form = form;
  }

  sizeOf(entry: Entry): number {
    const bytes = this.#form.item(this.#store, entry);
    this.#made.set(entry, bytes);
    return bytes === entry.bytes && this.#store.cache.get(entry.key) === entry ? 0 : bytes.length;
  }

  encode({ metadata, items }: ListPage): Buffer {
    this.metadata = metadata;
    this.items = items.map((entry) => this.#made.get(entry)!);
    return Buffer.alloc(0);
  }

  get bytes(): number {
    return this.items.reduce((sum, { length }) => sum + fieldSize(length), 0);
  }
}

/**
 * Answers a list as one message. Its length stands before it: where the list takes several pages, which only versions
 * from the log and converted ones do, they are read twice, first for their lengths.
 */
export async function sendProtobufList({ store, namespace, options, form }: ListWish<ProtobufForm>, way: ListWay): Promise<void> {
  const { chain, call, context, response, begin } = way;
  const isWhole = !options.limit;
  let warned: readonly string[] | undefined;
  const read = async (wanted: ListOptions): Promise<ItemPage> => {
    const page = new ItemPage(store, form);
    const prepared = chain.prepare(context, () => way.page({ namespace, options: wanted }, pageFormOf(page)));
    ({ warnings: warned } = await prepared.run());
    return page;
  };
  const next = (token: string): Promise<ItemPage> => read({ ...pageOptions(options), continue: token });
  const first = await read(options);
  const { continue: token = '', remainingItemCount: _, ...whole } = first.metadata;
  let length = first.bytes;
  for (let at = isWhole ? token : ''; at && !response.destroyed; ) {
    call.taken();
    const page = await next(at);
    length += page.bytes;
    at = page.metadata.continue ?? '';
  }
  const metadata = isWhole ? whole : first.metadata;
  const metaBytes = fieldSize(encodeMessage('berth.meta.v1.ListMeta', metadata).length);
  const { kind, apiVersion } = form.kindOf(store);
  const out = begin(joinWarnings(warned, context.warnings), length);
  out.write(envelopeHead({ kind: `${kind}List`, apiVersion }, metaBytes + length));
  await sendPieces(way, out, listPieces(metadata, first.items).make());
  for (let at = isWhole ? token : ''; at && !response.destroyed; ) {
    const page = await next(at);
    await sendPieces(way, out, withoutMetadata(page.items));
    at = page.metadata.continue ?? '';
  }
  out.end();
}

async function sendPieces({ call, response }: ListWay, out: AnswerOutput, pieces: Iterable<Uint8Array>): Promise<void> {
  for (const piece of pieces) {
    if (response.destroyed) return;
    await out.write(piece);
  }
  call.taken();
}

/** The pieces of a list behind its metadata, which are an empty field of two bytes here. */
function* withoutMetadata(items: readonly Uint8Array[]): Generator<Uint8Array> {
  let skip = 2;
  for (const piece of listPieces({}, items).make()) {
    yield piece.subarray(skip);
    skip = 0;
  }
}
