import type { HttpRequest } from '../http-call.ts';
import { flag } from '../requests/read-query.ts';

/** In bytes: laying out more would keep other calls waiting. */
const MOST_BYTES = 1024 * 1024;

/** Programs behind which a person reads, as Kubernetes has it. */
const readers = /^(?:curl|Wget|Mozilla\/5\.0)/;

/** Whether the client wants JSON that people can read: where it asks for it, and where it says nothing, by its name. */
export function wantsPretty({ headers }: Pick<HttpRequest, 'headers'>, query: URLSearchParams): boolean {
  return flag(query, 'pretty') ?? readers.test(headers['user-agent'] ?? '');
}

/** The same for an error, which may be that the query cannot be read. */
export function readsPretty({ url = '', headers }: HttpRequest): boolean {
  const [, value] = /[?&]pretty=([^&]*)/.exec(url) ?? [];
  return value === undefined ? readers.test(headers['user-agent'] ?? '') : /^(?:|1|t|T|true|TRUE|True)$/.test(value);
}

/** A document of JSON with a line for each member. What is too large stays as it is. */
export function prettyJson(bytes: Uint8Array): Uint8Array {
  if (bytes.length > MOST_BYTES) return bytes;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return Buffer.from(JSON.stringify(JSON.parse(text), null, 2));
}

/** How the document of a list is laid out. */
export interface ListLayout {
  /** What stands before the items; `head` has all other members. */
  begin(head: object, items: string): string;
  readonly between: string;
  /** Items, separated by commas, as they are to be written. */
  page(items: Uint8Array): Uint8Array;
  readonly end: string;
}

export const compactList: ListLayout = {
  begin: (head, items) => `${JSON.stringify(head).slice(0, -1)},"${items}":[`,
  between: ',',
  page: (items) => items,
  end: ']}',
};

export const prettyList: ListLayout = {
  begin: (head, items) => `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "${items}": [\n    `,
  between: ',\n    ',
  page(items) {
    const all = JSON.parse(`[${Buffer.from(items.buffer, items.byteOffset, items.byteLength).toString('utf8')}]`) as unknown[];
    const texts = all.map((item) => JSON.stringify(item, null, 2).replaceAll('\n', '\n    '));
    return Buffer.from(texts.join(this.between));
  },
  end: '\n  ]\n}',
};
