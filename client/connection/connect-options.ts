import type { LeaseTerm } from '../../api/meta/lease-term.ts';

/** Where the API server is and who is calling. */
export interface ConnectOptions {
  /** "host:port". */
  readonly address: string;
  /** The certificates of the CAs of which one signed the server's certificate (PEM). */
  readonly ca: string;
  /** The client's certificate and key (PEM), both or neither. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /**
   * Instead of `cert` and `key`, for a certificate that is renewed: asked with each call. From another answer on, calls
   * use a connection of its own; those under way go on, and the connection that they use goes with the last of them.
   * With `ca`, that is trusted instead of the one above.
   */
  readonly certificate?:
    | (() => { readonly certificate: string; readonly key: string; readonly ca?: string | undefined })
    | undefined;
  /**
   * A bearer token, for those without a certificate; a function for one that is renewed is asked with each call,
   * e.g. by a program in a pod.
   */
  readonly token?: string | (() => string) | undefined;
  /**
   * Impersonates another user in every call; the caller must be allowed to "impersonate" the user and each of the
   * groups.
   */
  readonly impersonate?: { readonly user: string; readonly groups?: readonly string[] } | undefined;
  /**
   * The leader's term under which calls are made, asked with each call and each stream: the server refuses their writes
   * with ABORTED once the Lease is another's. Undefined: none.
   */
  readonly leaseTerm?: (() => LeaseTerm | undefined) | undefined;
  /** Names the program in the server's log, e.g. "my-controller/1.2". */
  readonly userAgent?: string | undefined;
  /**
   * How soon a connection that went silent is given up: a ping after so long without a word,
   * and so long for its answer (30 s, 10 s).
   */
  readonly keepalive?: { readonly timeMs: number; readonly timeoutMs: number } | undefined;
  /**
   * How long calls may take that set themselves no shorter time: calls and streams from beginning to end, a session
   * (exec, attach, port-forward) until the server answers. 0: without bound, also where 30 s are usual.
   */
  readonly requestTimeoutMs?: number | undefined;
  /** Called with every warning that the server sends with an answer, e.g. about a field that Berth does not act on. */
  readonly onWarning?: ((text: string) => void) | undefined;
}
