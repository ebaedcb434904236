import { setMaxListeners } from 'node:events';
import { badRequest, callCancelled, permissionDenied, unavailable } from '../../api/errors/index.ts';
import { LEASE_TERM, type LeaseTerm, parseLeaseTerm } from '../../api/meta/lease-term.ts';
import type { Audit, AuditedAccess } from '../audit/audit.ts';
import { type Identity, isMaster, nodeNameOf } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import type { Access } from '../authz/attributes.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import { type Flow, flowOf } from '../limits/levels.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';
import type { CallContext } from '../verbs/call-context.ts';
import type { AccessTable } from './access-table.ts';
import { impersonated } from './impersonation.ts';
import { onStop } from './on-stop.ts';
import { sendsRequestId, sentRequestId } from './request-id.ts';
import { isEarlierComponent, managerOf, type TransportCall } from './transport-call.ts';

export interface ContextOptions {
  readonly tokens: TokenTable;
  readonly authorizer: Authorizer;
  /** The access of each method. */
  readonly access: AccessTable;
  readonly requestId: () => string;
  readonly audit?: Audit | undefined;
  /** Hears of each connection with a certificate. */
  readonly clients?: ClientCertificates | undefined;
  /** Ends every open stream when the server stops. */
  readonly stopping: AbortSignal;
}

/** One call. Computes lazily: most unary calls never need an id or a signal. */
export class OpenCall implements CallContext {
  /** Whether it has its place under the limits. */
  entered = false;
  /** Whether its handler has authorized it. */
  authorized = false;
  audited: AuditedAccess | undefined;
  /** What the client is told with the answer, besides what the handler says. */
  warnings: readonly string[] | undefined;
  /** The real caller, also under impersonation. */
  caller = '';
  readonly #isStream: boolean;
  readonly #call: TransportCall;
  readonly #options: ContextOptions;
  #identity: Identity | undefined;
  #flow: Flow | undefined;
  #requestId: string | undefined;
  #leaseTerm: LeaseTerm | undefined | null = null;
  #controller: AbortController | undefined;
  #forget: (() => void) | undefined;
  readonly #abort = (): void =>
    this.#controller?.abort(this.#call.isCancelled ? callCancelled() : unavailable('the API server is stopping: try again'));

  constructor(call: TransportCall, options: ContextOptions, isStream = false) {
    this.#isStream = isStream;
    this.#call = call;
    this.#options = options;
  }

  /** Authenticates the caller; runs first. Throws UNAUTHENTICATED. */
  identify(): Identity {
    const { tokens, authorizer, clients } = this.#options;
    const caller = this.#call.identify(tokens, clients);
    this.caller = caller.user;
    this.#flow = flowOf(caller);
    this.#identity = impersonated(this.#call, caller, authorizer);
    return this.#identity;
  }

  get isIdentified(): boolean {
    return this.#identity !== undefined;
  }

  get identity(): Identity {
    return this.#identity!;
  }

  get flow(): Flow {
    return this.#flow!;
  }

  get authorizer(): Authorizer {
    return this.#options.authorizer;
  }

  authorize(access: Access): void {
    // Audits the first access only; further ones follow from it.
    const isFirst = this.audited === undefined;
    if (isFirst) this.audited = this.beginAudit(access);
    this.permit(access, this);
    this.authorized = true;
    if (isFirst && this.#isStream) this.audited?.begun();
  }

  /** Throws PERMISSION_DENIED, which is written down where `of` is. */
  permit(access: Access, of: { audited: AuditedAccess | undefined }): void {
    const { audit, authorizer, access: table } = this.#options;
    table.check(this.#call.method, access);
    try {
      authorizer.authorize(this.identity, access);
    } catch (error) {
      of.audited ??= audit?.beginRefused(this, authorizer.attributes(access));
      throw error;
    }
  }

  beginAudit(access: Access): AuditedAccess | undefined {
    const { audit, authorizer } = this.#options;
    return audit?.begin(this, authorizer.attributes(access));
  }

  forItem(): CallContext {
    return new ItemCall(this);
  }

  authorizePath(path: string, verb?: string): void {
    this.#options.access.checkPath(this.#call.method);
    this.permitPath(path, verb);
  }

  authorizeNode(nodeName?: string): void {
    this.#options.access.checkNode(this.#call.method);
    const { identity } = this;
    const own = nodeNameOf(identity);
    if (!isMaster(identity) && (own === undefined || own !== (nodeName ?? own)))
      throw permissionDenied(
        nodeName === undefined
          ? `user "${identity.user}" is no node`
          : `user "${identity.user}" may not connect as node "${nodeName}"`,
      );
    this.authorized = true;
  }

  /** Throws PERMISSION_DENIED. */
  permitPath(path: string, verb = 'get'): void {
    this.#options.authorizer.authorizePath(this.identity, verb, path);
    this.authorized = true;
  }

  warn(text: string): void {
    this.warnings = withWarning(this.warnings, text);
  }

  get manager(): string {
    return managerOf(this.#call);
  }

  get isEarlierComponent(): boolean {
    return isEarlierComponent(this.#call);
  }

  get leaseTerm(): LeaseTerm | undefined {
    // Parsed once: the items of a stream share it.
    if (this.#leaseTerm === null) this.#leaseTerm = sentLeaseTerm(this.#call);
    return this.#leaseTerm;
  }

  get requestId(): string {
    this.#requestId ??= sentRequestId(this.#call) ?? this.#options.requestId();
    return this.#requestId;
  }

  /** Whether the client gave it an id, which it gets back. */
  get isNamed(): boolean {
    return sendsRequestId(this.#call);
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      // The items of a stream wait with the signal of their call.
      setMaxListeners(0, this.#controller.signal);
      const { stopping } = this.#options;
      const leaves = [this.#call.onCancelled(this.#abort), onStop(stopping, this.#abort)];
      this.#forget = () => {
        for (const leave of leaves) leave();
      };
      if (this.#call.isCancelled || stopping.aborted) this.#abort();
    }
    return this.#controller.signal;
  }

  get isCancelled(): boolean {
    return this.#call.isCancelled;
  }

  whenTaken(ms: number, done: () => void): void {
    this.#call.whenTaken(ms, done);
  }

  /** Ends the watch over the call; after it has ended. */
  release(): void {
    this.#forget?.();
  }
}

/** A call of many writes, as a deletion of a collection, may be told much; the answer's header is small. */
const MOST_WARNINGS = 100;

function withWarning(before: readonly string[] = [], text: string): readonly string[] {
  return before.length >= MOST_WARNINGS || before.includes(text) ? before : [...before, text];
}

function sentLeaseTerm(call: TransportCall): LeaseTerm | undefined {
  const [text, ...others] = call.header(LEASE_TERM);
  if (text === undefined) return undefined;
  const term = others.length === 0 ? parseLeaseTerm(text) : undefined;
  if (!term) throw badRequest(`metadata ${LEASE_TERM} must be one NAMESPACE/NAME/TRANSITIONS/HOLDER, percent-encoded`);
  return term;
}

/** The context of a stream's item: the stream's call with its own authorization. */
class ItemCall implements CallContext {
  authorized = false;
  audited: AuditedAccess | undefined;
  warnings: readonly string[] | undefined;
  readonly #call: OpenCall;

  constructor(call: OpenCall) {
    this.#call = call;
  }

  authorize(access: Access): void {
    this.audited ??= this.#call.beginAudit(access);
    this.#call.permit(access, this);
    this.authorized = true;
  }

  authorizePath(path: string, verb?: string): void {
    this.#call.authorizePath(path, verb);
    this.authorized = true;
  }

  authorizeNode(nodeName?: string): void {
    this.#call.authorizeNode(nodeName);
    this.authorized = true;
  }

  get identity(): Identity {
    return this.#call.identity;
  }

  get flow(): Flow {
    return this.#call.flow;
  }

  get authorizer(): Authorizer {
    return this.#call.authorizer;
  }

  warn(text: string): void {
    this.warnings = withWarning(this.warnings, text);
  }

  get manager(): string {
    return this.#call.manager;
  }

  get isEarlierComponent(): boolean {
    return this.#call.isEarlierComponent;
  }

  get leaseTerm(): LeaseTerm | undefined {
    return this.#call.leaseTerm;
  }

  get requestId(): string {
    return this.#call.requestId;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get isCancelled(): boolean {
    return this.#call.isCancelled;
  }

  whenTaken(ms: number, done: () => void): void {
    this.#call.whenTaken(ms, done);
  }
}
