import { spellOut } from '../../../api/apply/creator-fields.ts';
import { encodeMessage } from '../../../api/codec/message.ts';
import { field } from '../../../api/codec/wire-format.ts';
import { WireReader } from '../../../api/codec/wire-reader.ts';
import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { asServed, servedKind } from '../../registry/store-version.ts';
import type { Entry } from '../../watch/entry.ts';
import type { EventFormat } from '../../watch/event-format.ts';
import { FRAME_HEADER_BYTES } from '../../watch/event-frame.ts';
import { metadataBytes } from '../../watch/stamp-resource-version.ts';
import type { AnswerForm } from '../answers/object-forms.ts';
import type { EventWriting } from '../answers/watch-stream.ts';
import { toKubernetes } from './definition-protobuf.ts';
import { envelope } from './kubernetes-protobuf.ts';
import { statusProtobuf } from './status-protobuf.ts';

/**
 * Whether objects of a kind have Kubernetes' protobuf form. Berth's messages have its field numbers, but for schemas of
 * custom kinds (definition-protobuf.ts); Kubernetes has no messages for Berth's own kinds.
 */
export function hasProtobuf(kind: Kind): boolean {
  return !isCustom(kind) && !/(^|\.)berth\.io$/.test(groupOf(kind.apiVersion));
}

/** How single objects are written as protobuf, in lists and events too. */
export interface ProtobufForm {
  readonly id: string;
  /** The kind of an object of its own; that of a list has "List" behind it. */
  kindOf(store: KindStore): Pick<Kind, 'kind' | 'apiVersion'>;
  /** An object of the cache without an envelope. */
  item(store: KindStore, entry: Entry): Uint8Array;
  readonly answer: AnswerForm;
}

const METADATA = 1;

/** Objects as they are: where the version is the stored one, their stored bytes. */
export const wholeProtobuf: ProtobufForm = {
  id: 'whole',
  kindOf: servedKind,
  item(store, entry) {
    if (!store.served) return toKubernetes(store.kind, entry.bytes);
    return encodeMessage(store.served.message, asServed(store, store.cache.decoder.decode(entry)));
  },
  answer: { encode: (kind, bytes) => envelope(kind, toKubernetes(kind, spellOut(kind, bytes))), status: statusProtobuf },
};

/** Objects without anything but their metadata, of a version of meta.k8s.io. */
export function partialProtobuf(apiVersion: string): ProtobufForm {
  const partialKind = { kind: 'PartialObjectMetadata', apiVersion };
  return {
    id: `partial ${apiVersion}`,
    kindOf: () => partialKind,
    item: (_, { bytes }) => field(METADATA, metadataBytes(bytes)),
    answer: {
      encode: (kind, bytes) => envelope(partialKind, field(METADATA, metadataBytes(spellOut(kind, bytes)))),
      status: statusProtobuf,
    },
  };
}

/** Events whose objects are bodies in Kubernetes' protobuf. */
export function protobufEventsAs(form: ProtobufForm, store: KindStore): EventFormat {
  const kind = form.kindOf(store);
  const bookmark = (metadata: object): Uint8Array => encodeMessage(servedKind(store).message, { metadata } as ApiObject);
  return {
    id: `http protobuf ${form.id} ${servedKind(store).apiVersion}`,
    field: 2,
    hasHeading: false,
    // Kubernetes' clients compare what an event has with what a write answered.
    encode(entry) {
      const bytes = spellOut(store.kind, entry.bytes);
      return envelope(kind, form.item(store, bytes === entry.bytes ? entry : { ...entry, bytes: Buffer.from(bytes) }));
    },
    bookmark: (metadata) => envelope(kind, bookmark(metadata)),
  };
}

const EVENT = 1;
const TYPE = 1;
const OBJECT = 2;
const RAW = 1;

const LENGTH_BYTES = 4;

const translated = new WeakMap<Buffer, Buffer>();

/** Each event: its length in four bytes, then a WatchEvent, which itself has no envelope. */
export const protobufWriting: EventWriting = {
  contentType: 'application/vnd.kubernetes.protobuf;stream=watch',
  translate(frame) {
    const known = translated.get(frame);
    if (known) return known;
    const parts: Buffer[] = [];
    const events = new WireReader(frame, FRAME_HEADER_BYTES);
    while (events.next()) if (events.number === EVENT) parts.push(eventOf(events.inner()));
    const bytes = Buffer.concat(parts);
    translated.set(frame, bytes);
    return bytes;
  },
  split(bytes) {
    const events: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + LENGTH_BYTES + bytes.readUInt32BE(at);
      // A message says its own length.
      events.push(bytes.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    return events;
  },
  isText: false,
  failure: (status) => watchEvent(Buffer.from('ERROR'), statusProtobuf(status)),
};

function eventOf(event: WireReader): Buffer {
  let [type, object]: [Uint8Array, Uint8Array] = [Buffer.alloc(0), Buffer.alloc(0)];
  while (event.next()) {
    if (event.number === TYPE) type = event.value();
    else object = event.value();
  }
  return watchEvent(type, object);
}

function watchEvent(type: Uint8Array, object: Uint8Array): Buffer {
  const event = Buffer.concat([field(TYPE, type), field(OBJECT, field(RAW, object))]);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}
