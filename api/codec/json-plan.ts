import protobuf, { type Field, type Type } from 'protobufjs';
import { isTextTooDeep, isTooDeep } from '../meta/json-depth.ts';
import { isJsonObject, type JsonObject } from '../meta/merge-patch.ts';
import { messageType } from './descriptors.ts';
import { INLINE } from './json-fields.ts';
import type { JsonReader } from './json-reader.ts';
import { nearestWord } from './nearest.ts';
import { isOpen } from './open-message.ts';
import {
  durationCodec,
  intOrStringCodec,
  microTimeCodec,
  quantityCodec,
  scalarCodecs,
  timeCodec,
  type ValueCodec,
} from './scalars.ts';

type Message = Record<string, unknown>;

/** A field as JSON shows it: `holders` are the inlined messages that it really stands in. */
interface ReadPlan {
  readonly name: string;
  readonly holders: readonly string[];
  readonly codec: ValueCodec;
}

interface WritePlan {
  readonly name: string;
  readonly inline: boolean;
  readonly codec: ValueCodec;
}

const MICRO_TIME = '(berth.meta.v1.micro_time)';
const RAW_JSON = '(berth.meta.v1.raw_json)';
const EMBEDDED_KIND = '(berth.meta.v1.embedded_kind)';

const plans = new Map<string, MessagePlan>();

/** How a message maps to JSON; made once, on first use, from its descriptor. */
export function messagePlan(name: string): MessagePlan {
  let plan = plans.get(name);
  if (!plan) {
    plan = isOpen(name) ? new OpenPlan(messageType(name)) : new MessagePlan(messageType(name));
    plans.set(name, plan);
  }
  return plan;
}

const fullName = (type: Type): string => type.fullName.replace(/^\./, '');

/** The fields of one message in both directions. Compiled lazily, because messages contain each other. */
export class MessagePlan implements ValueCodec {
  readonly #type: Type;
  #reads: Map<string, ReadPlan> | undefined;
  #writes: readonly WritePlan[] | undefined;

  constructor(type: Type) {
    this.#type = type;
  }

  /** Names as JSON shows them. */
  get readable(): Map<string, ReadPlan> {
    this.#reads ??= new Map(this.#compileReads());
    return this.#reads;
  }

  *#compileReads(): Iterable<[string, ReadPlan]> {
    for (const field of this.#type.fieldsArray) {
      if (!field.options?.[INLINE]) yield [field.name, { name: field.name, holders: [], codec: fieldCodec(field) }];
      else {
        const inner = messagePlan(fullName(field.resolve().resolvedType as Type));
        for (const [name, plan] of inner.readable) yield [name, { ...plan, holders: [field.name, ...plan.holders] }];
      }
    }
  }

  get #writable(): readonly WritePlan[] {
    this.#writes ??= this.#type.fieldsArray.map((field) => ({
      name: field.name,
      inline: Boolean(field.options?.[INLINE]),
      codec: fieldCodec(field),
    }));
    return this.#writes;
  }

  read(json: unknown, at: JsonReader): Message | undefined {
    if (!isJsonObject(json)) return at.wrong('an object', json);
    const message: Message = {};
    for (const key of Object.keys(json)) this.#readField(message, key, json[key], at);
    return message;
  }

  #readField(message: Message, key: string, json: unknown, at: JsonReader): void {
    const plan = this.readable.get(key);
    if (!plan) {
      at.unknown(key, () => nearestWord(key, this.readable.keys()));
      return;
    }
    if (json === null || json === undefined) return;
    const value = at.within(key, json, plan.codec.read);
    if (value === undefined) return;
    let holder = message;
    for (const step of plan.holders) {
      holder[step] ??= {};
      holder = holder[step] as Message;
    }
    holder[plan.name] = value;
  }

  write(message: unknown): JsonObject {
    const json: JsonObject = {};
    this.#writeInto(json, message as Message);
    return json;
  }

  #writeInto(json: JsonObject, message: Message): void {
    for (const plan of this.#writable) {
      const value = message[plan.name];
      if (value === undefined || value === null) continue;
      const written = plan.codec.write(value);
      if (plan.inline) Object.assign(json, written);
      else if (written !== undefined) json[plan.name] = written as JsonObject[string];
    }
  }
}

/** An object of a kind that users added: its metadata is a message, all other members are JSON already. */
class OpenPlan extends MessagePlan {
  override read(json: unknown, at: JsonReader): Message | undefined {
    if (!isJsonObject(json)) return at.wrong('an object', json);
    const { metadata, ...members } = json;
    return { ...(super.read(metadata === undefined ? {} : { metadata }, at) ?? {}), ...members };
  }

  override write(message: unknown): JsonObject {
    const { metadata, ...members } = message as Message;
    return { ...super.write({ metadata }), ...(members as JsonObject) };
  }
}

/** Reads and writes a JSON document that is carried as bytes. */
const rawJson: ValueCodec = {
  read: (json) => Buffer.from(JSON.stringify(json)),
  write: (value) => {
    const text = Buffer.from(value as Uint8Array).toString();
    return text === '' ? undefined : JSON.parse(text);
  },
  zero: () => Buffer.from('null'),
};

/** Undefined for a text that is no JSON, or nested too deeply. */
function parsed(text: string): unknown {
  try {
    const value: unknown = isTextTooDeep(text) ? undefined : JSON.parse(text);
    return isTooDeep(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Kubernetes' FieldsV1 and RawExtension are the JSON object in their only member. */
function jsonObjectCodec(member: 'Raw' | 'raw'): ValueCodec {
  const rawOf = (value: unknown) => (value as { [member]?: Buffer })[member];
  return {
    read: (json, at) => (isJsonObject(json) ? { [member]: rawJson.read(json, at) } : at.wrong('an object', json)),
    write: (value) => {
      const raw = rawOf(value);
      return raw === undefined ? undefined : rawJson.write(raw);
    },
    check(value, at) {
      const text = rawOf(value)?.toString() ?? '';
      if (text !== '' && !isJsonObject(parsed(text))) at.wrong('a JSON object', text);
    },
  };
}

const fieldsV1 = jsonObjectCodec('Raw');
const rawExtension = jsonObjectCodec('raw');

/** Objects of a kind within another object: apiVersion and kind stand in the JSON form alone, and may be left out. */
function embeddedCodec(single: ValueCodec, names: string): ValueCodec {
  const [apiVersion = '', kind = ''] = names.split(' ');
  return {
    ...single,
    read: (json, at) => {
      if (!isJsonObject(json)) return single.read(json, at);
      const { apiVersion: sentVersion, kind: sentKind, ...rest } = json;
      if (sentVersion != null) at.within('apiVersion', sentVersion, (sent) => readName(sent, apiVersion, at));
      if (sentKind != null) at.within('kind', sentKind, (sent) => readName(sent, kind, at));
      return single.read(rest, at);
    },
    write: (value) => ({ apiVersion, kind, ...(single.write(value) as JsonObject) }),
  };
}

function readName(sent: unknown, name: string, at: JsonReader): undefined {
  if (sent !== name) at.refuse(`must be "${name}"`);
}

function fieldCodec(field: Field): ValueCodec {
  field.resolve();
  const embedded: unknown = field.options?.[EMBEDDED_KIND];
  const single = typeof embedded === 'string' ? embeddedCodec(valueCodec(field), embedded) : valueCodec(field);
  if (field.map) return mapCodec(single);
  return field.repeated ? listCodec(single) : single;
}

/** One value of a field: of a list or map each has this codec. */
export function valueCodec(field: Field): ValueCodec {
  const { resolvedType } = field;
  if (resolvedType instanceof protobuf.Enum) return enumCodec(Object.keys(resolvedType.values));
  if (resolvedType) return messageCodec(fullName(resolvedType), Boolean(field.options?.[MICRO_TIME]));
  if (field.type === 'bytes' && field.options?.[RAW_JSON]) return rawJson;
  return scalarCodecs[field.type]!;
}

function messageCodec(name: string, micro: boolean): ValueCodec {
  switch (name) {
    case 'google.protobuf.Timestamp':
      return micro ? microTimeCodec : timeCodec;
    case 'google.protobuf.Duration':
      return durationCodec;
    case 'berth.meta.v1.Quantity':
      return quantityCodec;
    case 'berth.meta.v1.IntOrString':
      return intOrStringCodec;
    case 'berth.meta.v1.FieldsV1':
      return fieldsV1;
    case 'berth.meta.v1.RawExtension':
      return rawExtension;
    case 'berth.authentication.v1.ExtraValue':
    case 'berth.authorization.v1.ExtraValue':
    case 'berth.certificates.v1.ExtraValue':
      return textsCodec;
    default: {
      const plan = messagePlan(name);
      return { read: (json, at) => plan.read(json, at), write: (value) => plan.write(value), zero: () => ({}) };
    }
  }
}

/** Kubernetes' ExtraValue: a message, because no map has lists, and a list of texts in JSON. */
const textsCodec: ValueCodec = {
  read: (json, at) => {
    const items = listCodec(scalarCodecs.string!).read(json, at) as string[] | undefined;
    return items ? { items } : {};
  },
  write: (value) => [...((value as { items?: string[] }).items ?? [])],
  zero: () => ({}),
};

function enumCodec(names: readonly string[]): ValueCodec {
  return {
    read: (json, at) => (typeof json === 'string' && names.includes(json) ? json : at.wrong(`one of ${names.join(', ')}`, json)),
    write: (value) => value,
  };
}

/** An empty list is an absent one: the wire cannot tell them apart. */
function listCodec(item: ValueCodec): ValueCodec {
  return {
    read: (json, at) => {
      if (!Array.isArray(json)) return at.wrong('a list', json);
      const list: unknown[] = [];
      json.forEach((value, index) => {
        const read = value === null ? nullItem(item, index, at) : at.within(index, value, item.read);
        if (read !== undefined) list.push(read);
      });
      return list.length === 0 ? undefined : list;
    },
    write: (value) => ((value as unknown[]).length === 0 ? undefined : (value as unknown[]).map((each) => item.write(each))),
  };
}

/** As in Kubernetes, null is the zero of its type where something has to stand: "" of a list or map of texts. */
function nullItem(item: ValueCodec, step: string | number, at: JsonReader): unknown {
  return item.zero ? item.zero() : at.within(step, null, wrongItem);
}

function wrongItem(value: unknown, at: JsonReader): undefined {
  return at.wrong('an item', value);
}

/** Like lists: an empty map is an absent one. */
function mapCodec(item: ValueCodec): ValueCodec {
  return {
    read: (json, at) => {
      if (!isJsonObject(json)) return at.wrong('an object', json);
      const map: Message = {};
      for (const key of Object.keys(json)) {
        const step = `[${key}]`;
        const read = json[key] === null ? nullItem(item, step, at) : at.within(step, json[key], item.read);
        if (key === '__proto__') at.within(step, key, refuseKey);
        else if (read !== undefined) map[key] = read;
      }
      return Object.keys(map).length === 0 ? undefined : map;
    },
    write: (value) => {
      const json: JsonObject = {};
      const entries = Object.entries(value as Message);
      for (const [key, each] of entries) json[key] = item.write(each) as JsonObject[string];
      return entries.length === 0 ? undefined : json;
    },
  };
}

/** Assigning this key would change what the map is. */
function refuseKey(key: string, at: JsonReader): undefined {
  return at.wrong('another key', key);
}
