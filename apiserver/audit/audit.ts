import type { ApiError } from '../../api/errors/index.ts';
import type { Identity } from '../authn/identity.ts';
import type { Attributes } from '../authz/attributes.ts';
import type { AuditFile } from './audit-file.ts';
import { LineCount, type LineSort } from './line-count.ts';
import { type AuditLevel, AuditLevels, type AuditPolicy, readVerbs } from './policy.ts';

/** A line of the audit log. What is empty is left out. */
export interface AuditEntry {
  /** The time of the request, RFC 3339. */
  readonly time: string;
  readonly level: AuditLevel;
  /** `begun`: a stream that goes on; its end is a line of its own. */
  readonly stage: 'begun' | 'ended';
  readonly requestId: string;
  readonly user: string;
  readonly groups: readonly string[];
  /** The impersonating user, if any. */
  readonly by?: string;
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly manager: string;
  /** A gRPC status: OK, NOT_FOUND ... Absent of what has begun. */
  readonly code?: string;
  readonly reason?: string;
  readonly message?: string;
  /** Objects that a call changed before it failed. */
  readonly changed?: number;
  /**
   * The user is refused so often that for a while nothing more of that is written down; or changes nothing so often.
   */
  readonly moreRefused?: true;
  /** The same of a user that reads so often. */
  readonly moreReads?: true;
  /** What admission policies and webhooks say of it, by name. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ms?: number;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

/** A line that says how many lines of a user were left out. */
export interface LeftOutEntry {
  /** When it was written, RFC 3339. */
  readonly time: string;
  readonly user: string;
  readonly sort: LineSort;
  readonly leftOut: number;
  /** The time of the first line of them that was written. */
  readonly since: string;
}

/** What the log needs to know of a call. */
export interface AuditedCall {
  readonly identity: Identity;
  /** The name of the real caller. */
  readonly caller: string;
  readonly requestId: string;
  readonly manager: string;
}

/** A call, or an item of a stream, that is written down when it ends. */
export interface AuditedAccess {
  readonly wantsRequest: boolean;
  readonly wantsResponse: boolean;
  request(object: unknown): void;
  response(object: unknown): void;
  /** Adds a word of an admission policy or a webhook, under its name; the last one of a name counts. */
  annotate(key: string, value: string): void;
  begun(): void;
  /** The call has changed something: its line is written, whatever it ends with. */
  changed(): void;
  /** The call changes nothing, though it is permitted: it is a dry run, or what it wants is so already. */
  unchanged(): void;
  /** Without an error it went well. Once. */
  ended(error?: ApiError): void;
}

/** An object larger than this, as JSON, is left out of its line. */
const maxObjectBytes = 64 * 1024;
/** The bound for the request of a refused call: such calls cost the caller nothing. */
const maxRefusedBytes = 4_096;
/** A caller may be in many groups, or say so of another user. */
const maxCallerLength = 4_096;
/** Names have at most 253 characters; what a client calls one may have millions. */
const maxNameLength = 512;
const maxMessageLength = 1_024;
/** The annotations of a line, and the bytes of each. */
const maxAnnotations = 50;
const maxAnnotationLength = 10_240;

/**
 * Writes down who did what, as the policy says. On the way of every write: what does not change from one line to the
 * next is worked out once.
 */
export class Audit {
  readonly #levels: AuditLevels;
  readonly #refusals: boolean;
  readonly #file: Pick<AuditFile, 'add'>;
  readonly #now: () => Date;
  readonly #callers = new WeakMap<Identity, string>();
  readonly #counts = new LineCount();
  readonly #instant = { ms: Number.NaN, text: '' };

  constructor(policy: AuditPolicy, file: Pick<AuditFile, 'add'>, now: () => Date) {
    this.#levels = new AuditLevels(policy);
    this.#refusals = policy.refusals === true;
    this.#file = file;
    this.#now = now;
  }

  /** Undefined when nothing of it is to be written. */
  begin(call: AuditedCall, attributes: Attributes): AuditedAccess | undefined {
    const level = this.#levels.of(call.identity, attributes);
    return level === 'None' ? undefined : new AuditedLine(this, call, attributes, level);
  }

  /** Begins the record of a call that was refused before it began. */
  beginRefused(call: AuditedCall, attributes: Attributes): AuditedAccess | undefined {
    return this.#refusals ? new AuditedLine(this, call, attributes, 'Metadata') : undefined;
  }

  /** What becomes of the line of a call that changed nothing. The name is that of the real caller. */
  place(caller: string, ms: number, sort: LineSort): ReturnType<LineCount['take']> {
    return this.#counts.take(caller, ms, sort);
  }

  /** Writes how many lines were left out in the times that are over; without a time, in all. */
  tellLeftOut(ms = Number.POSITIVE_INFINITY): void {
    for (const { user, sort, since, count } of this.#counts.takeLeftOut(ms)) {
      const time = this.timeText(Number.isFinite(ms) ? ms : this.timeMs());
      this.add(
        `{"time":"${time}"${field('user', user)},"sort":"${sort}","leftOut":${count},"since":"${new Date(since).toISOString()}"}`,
      );
    }
  }

  timeMs(): number {
    return this.#now().getTime();
  }

  add(line: string): void {
    this.#file.add(line);
  }

  /** RFC 3339; many lines fall into one millisecond. */
  timeText(ms: number): string {
    if (this.#instant.ms !== ms) Object.assign(this.#instant, { ms, text: new Date(ms).toISOString() });
    return this.#instant.text;
  }

  /** A connection has one identity for all its calls. */
  callerText(identity: Identity): string {
    let text = this.#callers.get(identity);
    if (text === undefined) {
      text = `"user":${JSON.stringify(identity.user)},"groups":${JSON.stringify(identity.groups)}`;
      if (text.length > maxCallerLength)
        text = `${field('user', identity.user).slice(1)},"groups":["(${identity.groups.length} groups)"]`;
      this.#callers.set(identity, text);
    }
    return text;
  }
}

/** The line of one call. Its fields are those of AuditEntry, in that order. */
class AuditedLine implements AuditedAccess {
  readonly #audit: Audit;
  readonly #call: AuditedCall;
  readonly #attributes: Attributes;
  readonly #level: AuditLevel;
  readonly #beganAt: number;
  #objects = '';
  #annotations: Map<string, string> | undefined;
  #changed = 0;
  #isUnchanged = false;
  /** What became of the line of a stream's begin. */
  #begun: ReturnType<LineCount['take']> | undefined;

  constructor(audit: Audit, call: AuditedCall, attributes: Attributes, level: AuditLevel) {
    this.#audit = audit;
    this.#call = call;
    this.#attributes = attributes;
    this.#level = level;
    this.#beganAt = audit.timeMs();
    audit.tellLeftOut(this.#beganAt);
  }

  get wantsRequest(): boolean {
    return this.#level === 'Request' || this.#level === 'RequestResponse';
  }

  get wantsResponse(): boolean {
    return this.#level === 'RequestResponse';
  }

  request(object: unknown): void {
    this.#objects += objectField('requestObject', object);
  }

  response(object: unknown): void {
    this.#objects += objectField('responseObject', object);
  }

  annotate(key: string, value: string): void {
    this.#annotations ??= new Map();
    if (this.#annotations.size >= maxAnnotations && !this.#annotations.has(key)) return;
    this.#annotations.set(key, value.slice(0, maxAnnotationLength));
  }

  changed(): void {
    this.#changed++;
  }

  unchanged(): void {
    this.#isUnchanged = true;
  }

  begun(): void {
    this.#begun = this.#isRead ? this.#place('reads') : 'written';
    if (this.#begun !== 'left out') this.#audit.add(`${this.#head('begun')}${moreOf('reads', this.#begun)}}`);
  }

  ended(error?: ApiError): void {
    const sort = this.#sort(error);
    const place = !sort ? 'written' : sort === 'reads' && this.#begun ? this.#begun : this.#place(sort);
    if (place === 'left out') return;
    const more = sort ? moreOf(sort, place) : '';
    const changed = error && this.#changed > 0 ? `,"changed":${this.#changed}` : '';
    const failure = error ? `${field('reason', error.reason)}${field('message', error.message, maxMessageLength)}` : '';
    const ms = this.#audit.timeMs() - this.#beganAt;
    if (error && this.#objects.length > maxRefusedBytes)
      this.#objects = `,"requestObject":"left out: ${this.#objects.length} bytes"`;
    const annotations = this.#annotations ? `,"annotations":${JSON.stringify(Object.fromEntries(this.#annotations))}` : '';
    const outcome = `"code":"${error?.code ?? 'OK'}"${failure}${changed}${more}${annotations}`;
    this.#audit.add(`${this.#head('ended')},${outcome},"ms":${ms}${this.#objects}}`);
  }

  get #isRead(): boolean {
    return readVerbs.includes(this.#attributes.verb);
  }

  /** What the line counts as; undefined when it is always written. Invalid requests do not hide refusals of rights. */
  #sort(error: ApiError | undefined): LineSort | undefined {
    if (this.#changed > 0) return undefined;
    if (error) return error.code === 'PERMISSION_DENIED' ? 'refusals' : 'failures';
    return this.#isRead ? 'reads' : this.#isUnchanged ? 'unchanged' : undefined;
  }

  #place(sort: LineSort): ReturnType<LineCount['take']> {
    return this.#audit.place(this.#call.caller, this.#beganAt, sort);
  }

  #head(stage: AuditEntry['stage']): string {
    const { identity, caller, requestId, manager } = this.#call;
    const { verb, group, resource, subresource, namespace, name } = this.#attributes;
    const by = caller === identity.user ? '' : field('by', caller);
    const who = `${this.#audit.callerText(identity)}${by}`;
    const what = `${field('verb', verb)}${field('group', group)}${field('resource', resource)}${field('subresource', subresource)}`;
    const which = `${field('namespace', namespace)}${field('name', name)},"manager":${JSON.stringify(manager.slice(0, maxNameLength))}`;
    const time = this.#audit.timeText(this.#beganAt);
    return `{"time":"${time}","level":"${this.#level}","stage":"${stage}","requestId":${JSON.stringify(requestId)},${who}${what}${which}`;
  }
}

/** The word that more of the same is left out from now on. */
function moreOf(sort: LineSort, place: ReturnType<LineCount['take']>): string {
  if (place !== 'last') return '';
  return sort === 'reads' ? ',"moreReads":true' : ',"moreRefused":true';
}

/** Nothing for what is empty. */
function field(name: string, text: string | undefined, most = maxNameLength): string {
  if (!text) return '';
  return `,"${name}":${JSON.stringify(text.length > most ? `${text.slice(0, most)}... (${text.length} characters)` : text)}`;
}

function objectField(name: string, object: unknown): string {
  const text = JSON.stringify(object);
  if (text === undefined) return '';
  return `,"${name}":${text.length > maxObjectBytes ? `"left out: ${text.length} bytes"` : text}`;
}
