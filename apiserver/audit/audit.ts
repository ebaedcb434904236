import type { ApiError } from '../../api/errors/index.ts';
import type { Attributes } from '../auth/attributes.ts';
import type { Identity } from '../auth/identity.ts';
import type { AuditFile } from './audit-file.ts';
import { type AuditLevel, type AuditPolicy, levelOf } from './policy.ts';

/** A line of the audit log. What is empty is left out. */
export interface AuditEntry {
  /** RFC 3339, when it was asked for. */
  readonly time: string;
  readonly level: AuditLevel;
  /** `begun`: a stream that goes on; its end is a line of its own. */
  readonly stage: 'begun' | 'ended';
  readonly requestId: string;
  readonly user: string;
  readonly groups: readonly string[];
  /** Who called as that user, when it was another. */
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
  readonly ms?: number;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

/** What the log needs to know of a call. */
export interface AuditedCall {
  readonly identity: Identity;
  /** The name of the caller himself. */
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
  begun(): void;
  /** Without an error it went well. Once. */
  ended(error?: ApiError): void;
}

/** An object larger than this, as JSON, is left out of its line. */
const maxObjectBytes = 64 * 1024;

/** Writes down who did what, as the policy says. */
export class Audit {
  private readonly policy: AuditPolicy;
  private readonly file: Pick<AuditFile, 'add'>;
  private readonly now: () => Date;

  constructor(policy: AuditPolicy, file: Pick<AuditFile, 'add'>, now: () => Date) {
    this.policy = policy;
    this.file = file;
    this.now = now;
  }

  /** Undefined when nothing of it is to be written. */
  begin(call: AuditedCall, attributes: Attributes): AuditedAccess | undefined {
    const level = levelOf(this.policy, call.identity, attributes);
    return level === 'None' ? undefined : this.open(call, attributes, level);
  }

  /** The same for what was not permitted and has not begun. */
  beginRefused(call: AuditedCall, attributes: Attributes): AuditedAccess | undefined {
    return this.policy.refusals ? this.open(call, attributes, 'Metadata') : undefined;
  }

  private open(call: AuditedCall, attributes: Attributes, level: AuditLevel): AuditedAccess {
    const time = this.now();
    const objects: { requestObject?: unknown; responseObject?: unknown } = {};
    const write = (end: Partial<AuditEntry>): void =>
      this.file.add(JSON.stringify({ ...entryOf(call, attributes, { level, time }), ...end }));
    return {
      wantsRequest: level === 'Request' || level === 'RequestResponse',
      wantsResponse: level === 'RequestResponse',
      request(object) {
        objects.requestObject = bounded(object);
      },
      response(object) {
        objects.responseObject = bounded(object);
      },
      begun: () => write({ stage: 'begun' }),
      ended: (error) => {
        const failure = error && { reason: error.reason, message: error.message };
        write({ stage: 'ended', code: error?.code ?? 'OK', ...failure, ms: this.now().getTime() - time.getTime(), ...objects });
      },
    };
  }
}

function entryOf(
  call: AuditedCall,
  attributes: Attributes,
  { level, time }: { readonly level: AuditLevel; readonly time: Date },
) {
  const { identity, caller, requestId, manager } = call;
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const { user, groups } = identity;
  const by = caller === user ? undefined : caller;
  const or = (text: string) => text || undefined;
  return {
    ...{ time: time.toISOString(), level, stage: 'ended', requestId, user, groups, by, verb },
    ...{ group: or(group), resource, subresource: or(subresource), namespace: or(namespace), name: or(name), manager },
  };
}

function bounded(object: unknown): unknown {
  const text = JSON.stringify(object) ?? '';
  return text.length > maxObjectBytes ? `left out: ${text.length} bytes` : object;
}
