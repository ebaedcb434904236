import { WireReader } from '../../../api/codec/wire-reader.ts';
import { asApiError, isExpired } from '../../../api/errors/index.ts';
import { AUDIT_ID } from '../../calls/request-id.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { servedKind } from '../../registry/store-version.ts';
import type { WatchSink } from '../../verbs/watch-sink.ts';
import type { EventFormat } from '../../watch/event-format.ts';
import { FRAME_HEADER_BYTES } from '../../watch/event-frame.ts';
import { type StatusObject, statusOf } from '../errors/status-object.ts';
import type { HttpResponse } from '../http-call.ts';
import { eventBytes, type ItemForm } from './object-forms.ts';

const EVENT = 1;
const TYPE = 1;

/** What of each event's JSON stands around its object. */
const middle = Buffer.from('","object":');
const tail = Buffer.from('}\n');
const head = Buffer.from('{"type":"');

/** Frames that several watchers share are translated once. */
const translated = new WeakMap<Buffer, Buffer>();

/** The events of a frame as lines of JSON. */
export function linesOf(frame: Buffer): Buffer {
  const known = translated.get(frame);
  if (known) return known;
  const parts: Uint8Array[] = [];
  const events = new WireReader(frame, FRAME_HEADER_BYTES);
  while (events.next()) {
    if (events.number !== EVENT) continue;
    const event = events.inner();
    while (event.next()) {
      if (event.number === TYPE) parts.push(head, event.value(), middle);
      else parts.push(event.value(), tail);
    }
  }
  const lines = Buffer.concat(parts);
  translated.set(frame, lines);
  return lines;
}

/** Events whose objects are JSON in the form; those with the same id share what was encoded for one of them. */
export function jsonEventsAs(form: ItemForm, id: string, store: KindStore): EventFormat {
  return {
    id: `http ${id} ${servedKind(store).apiVersion}`,
    field: 2,
    hasHeading: form.items === 'rows',
    encode: (entry, first) => eventBytes(form, store, entry, first),
    bookmark: (metadata) => Buffer.from(JSON.stringify(form.bookmark(store, metadata))),
  };
}

/** How the events of a watch are written. */
export interface EventWriting {
  readonly contentType: string;
  /** The events of a frame; the same frame is translated once. */
  translate(frame: Buffer): Buffer;
  /** The single events of what `translate` gave. */
  split(bytes: Buffer): Buffer[];
  readonly isText: boolean;
  /** The last event of a watch that fails. */
  failure(status: StatusObject): Buffer;
}

function splitLines(lines: Buffer): Buffer[] {
  const events: Buffer[] = [];
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf(NEWLINE, at) + 1;
    events.push(lines.subarray(at, end));
    at = end;
  }
  return events;
}

const NEWLINE = 10;

export const jsonWriting: EventWriting = {
  contentType: 'application/json',
  translate: linesOf,
  split: splitLines,
  isText: true,
  failure: (status) => Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`),
};

/** Whether a watch fails because of its version alone. */
export const isOfVersion = (error: unknown): boolean =>
  isExpired(error) || (asApiError(error)?.violations ?? []).some(({ reason }) => reason === 'ResourceVersionTooLarge');

/** A watch on its way to a client of this door. */
export interface DoorWatchSink extends WatchSink {
  readonly begun: boolean;
  /** Ends a watch that has begun; with the error as its last event. */
  end(error?: unknown): void;
}

/** Sends a watch event by event; an error that comes after the beginning is the last of them. */
export class HttpWatchSink implements DoorWatchSink {
  readonly #response: HttpResponse;
  readonly #writing: EventWriting;
  readonly #requestId: string;
  #begun = false;

  constructor(response: HttpResponse, writing: EventWriting, requestId: string) {
    this.#response = response;
    this.#writing = writing;
    this.#requestId = requestId;
  }

  get begun(): boolean {
    return this.#begun;
  }

  begin(): void {
    this.#begun = true;
    const { contentType } = this.#writing;
    const headers = { 'content-type': contentType, 'cache-control': 'no-cache, private', [AUDIT_ID]: this.#requestId };
    this.#response.writeHead(200, headers);
    this.#response.flushHeaders();
  }

  send(frame: Buffer, taken: () => void): void {
    if (this.#response.writable) this.#write(this.#writing.translate(frame), taken);
  }

  cutOff(): void {
    this.#response.destroy();
  }

  end(error?: unknown): void {
    const known = error === undefined ? undefined : asApiError(error);
    if (known && this.#response.writable) this.#write(this.#writing.failure(statusOf(known)), () => {});
    this.#response.end();
  }

  #write(bytes: Buffer, taken: () => void): void {
    this.#response.write(bytes, (error) => void (error ?? taken()));
  }
}
