import type { ConnectOptions } from '../client.ts';

/** How to reach one API server as one user: what a context stands for. */
export interface Context {
  readonly name: string;
  /** The namespace of commands that name none. */
  readonly namespace: string;
  readonly options: ConnectOptions;
  /** Where its server listens for programs of the same user, as the file says (`findLocalSocket`). */
  readonly socket?: string | undefined;
  /** Where the token is read from with each call, if it is. */
  readonly tokenFile?: string | undefined;
  /** What its user should know of the file, such as that others may read it: sentences. */
  readonly warnings: readonly string[];
}
