import { badRequest } from '../../../api/errors/index.ts';
import { type ProtobufForm, partialProtobuf, wholeProtobuf } from '../protobuf/protobuf-forms.ts';
import { metaApiVersion, type Wanted } from './accept.ts';
import { writers } from './answer-writers.ts';
import {
  type AnswerForm,
  answerAs,
  type IncludeObject,
  type ItemForm,
  jsonAnswer,
  partialObjects,
  tableRows,
  wholeObjects,
} from './object-forms.ts';

type Now = () => Date;

/** The form of an answer of one object. */
export function answerForm(wanted: Wanted, query: URLSearchParams, now: Now): AnswerForm {
  if (wanted.type === 'protobuf') return protobufForm(wanted).answer;
  if (wanted.type === 'json' && wanted.as === undefined) return jsonAnswer;
  return answerAs(itemForm(wanted, query, now), writers[wanted.type]);
}

/** The form of objects of lists and events that are no protobuf. */
export function itemForm(wanted: Wanted, query: URLSearchParams, now: Now): ItemForm {
  if (wanted.as === undefined) return wholeObjects;
  const apiVersion = metaApiVersion(wanted);
  return wanted.as === 'Table' ? tableRows(apiVersion, includeOf(query), now) : partialObjects(apiVersion);
}

/** Watchers with the same share what is written for them. */
export const itemFormId = ({ as, metaVersion }: Wanted, query: URLSearchParams): string =>
  `${as ?? ''} ${metaVersion ?? ''} ${query.get('includeObject') ?? ''}`;

export const protobufForm = (wanted: Wanted): ProtobufForm =>
  wanted.as === undefined ? wholeProtobuf : partialProtobuf(metaApiVersion(wanted));

export function includeOf(query: URLSearchParams): IncludeObject {
  const include = query.get('includeObject') || 'Metadata';
  if (include === 'None' || include === 'Object' || include === 'Metadata') return include;
  const why = `includeObject: Invalid value: ${JSON.stringify(include)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw badRequest(`Unable to convert to Table as requested: ${why}`);
}
