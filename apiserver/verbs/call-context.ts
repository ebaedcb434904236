import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import type { AuditedAccess } from '../audit/audit.ts';
import type { Identity } from '../authn/identity.ts';
import type { Access } from '../authz/attributes.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import type { Flow } from '../limits/levels.ts';

/** What a verb knows of its call, whatever transport the call came over. */
export interface CallContext {
  readonly identity: Identity;
  /** What the call counts against: the real caller, also when it impersonates another. */
  readonly flow: Flow;
  /** Authorizes the call, before anything else happens. Throws PERMISSION_DENIED. */
  authorize(access: Access): void;
  /** The same for a non-resource URL: "/apis"; to "get" it, where no verb is given. */
  authorizePath(path: string, verb?: string): void;
  /** The same for methods that only the given node may call, or any node if none is given. */
  authorizeNode(nodeName?: string): void;
  /** Whether the call was authorized. */
  readonly authorized: boolean;
  /** For checks that depend on stored objects. */
  readonly authorizer: Authorizer;
  /** The call's entry in the audit log, once it is authorized; undefined when the policy omits it. */
  readonly audited?: AuditedAccess | undefined;
  /** The context of one item of a stream; each item is authorized and audited separately. */
  forItem?(): CallContext;
  /** Tells the client a sentence with the answer: it joins `warnings`. */
  warn(text: string): void;
  readonly warnings?: readonly string[] | undefined;
  readonly manager: string;
  /** Whether the caller is an agent, scheduler or controller of the previous minor version. */
  readonly isEarlierComponent?: boolean;
  /** The term of the leader that calls, where it sends one. Throws INVALID_ARGUMENT for one that cannot be read. */
  readonly leaseTerm?: LeaseTerm | undefined;
  /** The name of the call in logs and errors: the client's own, where it sent a usable one. */
  readonly requestId: string;
  /**
   * Aborts when the client is gone or the deadline is over, with CANCELLED, and when the server stops, with
   * UNAVAILABLE.
   */
  readonly signal: AbortSignal;
  /** Whether the client is gone, or the deadline is over. */
  readonly isCancelled: boolean;
  /**
   * Calls `done` once, when the answer has left or the client is gone; one that is not taken within `ms` is cut off.
   */
  whenTaken(ms: number, done: () => void): void;
}
