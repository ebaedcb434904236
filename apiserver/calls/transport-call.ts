import type { Identity } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import type { ClientCertificates } from '../pki/client-certificates.ts';

/** One call as its transport knows it: all that the steps before and behind a verb need of it. */
export interface TransportCall {
  /** The method: "/berth.core.v1.Pods/Get". Every transport names methods as gRPC does. */
  readonly method: string;
  /** Whether the client is gone, or the deadline is over. */
  readonly isCancelled: boolean;
  /** The values of a header, by its lower-case name. */
  header(name: string): readonly string[];
  /** In lower case. */
  headerNames(): readonly string[];
  /** The caller; `clients` is notified of each connection with a certificate. Throws UNAUTHENTICATED. */
  identify(tokens: TokenTable, clients?: ClientCertificates): Identity;
  /** Calls `listener` when the call is cancelled, until the returned function is called. */
  onCancelled(listener: () => void): () => void;
  /**
   * Calls `done` once, when the answer has left or the client is gone; one that is not taken within `ms` is cut off.
   */
  whenTaken(ms: number, done: () => void): void;
  /** Calls `done` once, when the call is over for its transport, by whichever side. */
  whenClosed(done: () => void): void;
}

const COMPONENT = /^berth-(?:agent|scheduler|controllers)(?=[/ ]|$)/;

/** Components name their version, "berth/0.2.0", in their user agent; those of the minor version before do not yet. */
export function isEarlierComponent(call: Pick<TransportCall, 'header'>): boolean {
  const agent = userAgentOf(call);
  return COMPONENT.test(agent) && !agent.includes(' berth/');
}

/** The name under which a client's writes are recorded when it gives none: the first word of its user agent. */
export function managerOf(call: Pick<TransportCall, 'header'>): string {
  return userAgentOf(call).split(/[/ ]/, 1)[0]?.slice(0, 128) || 'unknown';
}

const userAgentOf = (call: Pick<TransportCall, 'header'>): string => call.header('user-agent')[0] ?? '';
