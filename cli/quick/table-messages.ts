import type { Table, TableColumn, TableRow } from '../../api/generated/types.ts';

/**
 * The messages of the two calls that a plain `get` may make, written and read without descriptors: those of all kinds
 * take a short command longer than its call. The numbers are those of proto/berth/meta/v1; a test compares both codecs.
 */

/** Wire types of Protocol Buffers. */
const VARINT = 0;
const BYTES = 2;
/** Longer numbers than any that these messages have. */
const maxShift = 63;

export interface TableQuestion {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly selector: string | undefined;
  readonly limit: number;
}

/** An ObjectListRequest. */
export function listRequestBytes({ kind, namespace, selector, limit }: TableQuestion): Uint8Array {
  const options = [...(selector === undefined ? [] : text(1, selector)), ...varint((7 << 3) | VARINT), ...varint(limit)];
  return Uint8Array.from([...field(1, text(2, kind)), ...text(2, namespace ?? ''), ...field(3, options), ...text(4, 'table')]);
}

/** An ObjectGetRequest. */
export function getRequestBytes({
  kind,
  namespace,
  name,
}: {
  kind: string;
  namespace: string | undefined;
  name: string;
}): Uint8Array {
  const key = [...text(1, namespace ?? ''), ...text(2, name)];
  return Uint8Array.from([...field(1, text(2, kind)), ...field(2, key), ...text(3, 'table')]);
}

/** The table of an ObjectListResponse; undefined when it is one page of several. Throws for what is no message. */
export function tableOfList(bytes: Buffer): Table | undefined {
  let [table, isWhole]: [Table, boolean] = [{}, true];
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) isWhole = !fieldsOf(value).some((each) => each.number === 3 && each.value.length > 0);
    if (number === 3) table = tableOf(value);
  }
  return isWhole ? table : undefined;
}

/** The table of an ObjectResponse. Throws for what is no message. */
export function tableOfObject(bytes: Buffer): Table {
  return tableOf(fieldsOf(bytes).findLast(({ number }) => number === 2)?.value ?? Buffer.alloc(0));
}

function tableOf(bytes: Buffer): Table {
  const [columns, rows]: [TableColumn[], TableRow[]] = [[], []];
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) columns.push(columnOf(value));
    if (number === 2) rows.push(rowOf(value));
  }
  return { columns, rows };
}

function columnOf(bytes: Buffer): TableColumn {
  const column: TableColumn = { name: '', type: '', priority: 0 };
  for (const { number, value, varint: whole } of fieldsOf(bytes)) {
    if (number === 1) column.name = value.toString();
    if (number === 2) column.type = value.toString();
    if (number === 3) column.priority = whole;
  }
  return column;
}

function rowOf(bytes: Buffer): TableRow {
  const cells: string[] = [];
  const labels: Record<string, string> = {};
  const row: TableRow = { cells, labels, name: '', namespace: '' };
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) cells.push(value.toString());
    if (number === 2) row.name = value.toString();
    if (number === 3) row.namespace = value.toString();
    if (number === 5) {
      const [key, label] = [1, 2].map(
        (at) =>
          fieldsOf(value)
            .find((each) => each.number === at)
            ?.value.toString() ?? '',
      );
      labels[key!] = label!;
    }
  }
  return row;
}

interface Field {
  readonly number: number;
  /** Of text, bytes and messages. */
  readonly value: Buffer;
  /** Of whole numbers. */
  readonly varint: number;
}

const nothing = Buffer.alloc(0);

function fieldsOf(bytes: Buffer): Field[] {
  const found: Field[] = [];
  let at = 0;
  const whole = (): number => {
    let value = 0;
    for (let shift = 0; shift <= maxShift; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw new Error('the message is cut off');
  };
  while (at < bytes.length) {
    const tag = whole();
    const number = Math.floor(tag / 8);
    if (tag % 8 === VARINT) found.push({ number, value: nothing, varint: whole() });
    else if (tag % 8 === BYTES) {
      const length = whole();
      if (at + length > bytes.length) throw new Error('the message is cut off');
      found.push({ number, value: bytes.subarray(at, at + length), varint: 0 });
      at += length;
    } else throw new Error(`the message has a field of type ${tag % 8}`);
  }
  return found;
}

/** As Protocol Buffers have it, an empty text is not written. */
function text(number: number, value: string): number[] {
  return value === '' ? [] : field(number, [...Buffer.from(value)]);
}

function field(number: number, bytes: readonly number[]): number[] {
  return [...varint((number << 3) | BYTES), ...varint(bytes.length), ...bytes];
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
