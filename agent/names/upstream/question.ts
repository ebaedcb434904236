import { classIn, headerSize, maxUdpSize, rcodes, types, word } from '../wire.ts';

/** What is asked of an upstream server. */
export interface Question {
  readonly key: string;
  readonly type: number;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
}

/** Equal for questions with the same answer. */
export function questionId({ key, type, dnssecOk, checkingDisabled }: Question): string {
  return `${key}${String.fromCharCode(type, (dnssecOk ? 1 : 0) + (checkingDisabled ? 2 : 0))}`;
}

/** The query for a question, with EDNS unless the server is one that does not take it. */
export function encodeQuestion(question: Question, id: number, withEdns: boolean): Buffer {
  const flags = 0x0100 | (question.checkingDisabled ? 0x10 : 0);
  const header = word(id) + word(flags) + word(1) + word(0) + word(0) + word(withEdns ? 1 : 0);
  const opt = `\0${word(types.opt)}${word(maxUdpSize)}\0\0${word(question.dnssecOk ? 0x8000 : 0)}${word(0)}`;
  const text = header + question.key + word(question.type) + word(classIn) + (withEdns ? opt : '');
  return Buffer.from(text, 'latin1');
}

/** Where the question of a query ends that `encodeQuestion` made. */
export function questionEnd({ key }: Question): number {
  return headerSize + key.length + 4;
}

/**
 * Whether a message answers a query: a response with its id, its operation and its question, byte by byte. Anything
 * else was sent by another, or is for another query.
 */
export function isAnswerTo(message: Buffer, query: Buffer, end: number): boolean {
  return (
    message.length >= end &&
    message[0] === query[0] &&
    message[1] === query[1] &&
    (message[2]! & 0xf8) === 0x80 &&
    message.readUInt16BE(4) === 1 &&
    message.compare(query, headerSize, end, headerSize, end) === 0
  );
}

/** Whether a message says of a query only that it was not understood, as servers do that know no EDNS. */
export function isNotUnderstood(message: Buffer, query: Buffer): boolean {
  const isBare = message.length === headerSize && message[0] === query[0] && message[1] === query[1];
  return isBare && (message[2]! & 0xf8) === 0x80 && (message[3]! & 15) === rcodes.formErr;
}
