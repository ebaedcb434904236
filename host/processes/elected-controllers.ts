import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import { type ConnectOptions, connect, LeadershipOverrunError } from '../../client/index.ts';
import { type RunControllersOptions, runControllers } from '../../controllers/main.ts';

export interface ElectedControllersOptions {
  readonly connection: ConnectOptions;
  /** Of this process among those that run controllers; absent: the machine's name and a random part. */
  readonly identity?: string | undefined;
  readonly options: Omit<RunControllersOptions, 'client' | 'election'>;
}

/**
 * Runs the controllers while this process holds their Lease. Everything that they write carries the term: the server
 * refuses what arrives after another process has taken over.
 */
export async function runElected(
  { connection, identity, options }: ElectedControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  let term: LeaseTerm | undefined;
  const client = connect({ ...connection, leaseTerm: () => term });
  const onTerm = (next: LeaseTerm | undefined): void => {
    term = next;
  };
  try {
    await runControllers({ ...options, client, election: { identity, onTerm } }, signal);
  } catch (error) {
    if (!(error instanceof LeadershipOverrunError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    // What goes on without the lease ends with the process and not before.
    process.exit(1);
  } finally {
    client.close();
  }
}
