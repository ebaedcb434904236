import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import type { Client } from '../../client/index.ts';
import { type RunControllersOptions, runControllers } from '../../controllers/main.ts';

export interface ElectedControllersOptions {
  /** Makes their client, whose calls carry the term. */
  readonly connect: (leaseTerm: () => LeaseTerm | undefined) => Client;
  /** Of this process among those that run controllers; absent: the machine's name and a random part. */
  readonly identity?: string | undefined;
  readonly options: Omit<RunControllersOptions, 'client' | 'election'>;
}

/**
 * Runs the controllers while this process holds their Lease. Everything that they write carries the term: the server
 * refuses what arrives after another process has taken over.
 */
export async function runElected({ connect, identity, options }: ElectedControllersOptions, signal: AbortSignal): Promise<void> {
  let term: LeaseTerm | undefined;
  const client = connect(() => term);
  const onTerm = (next: LeaseTerm | undefined): void => {
    term = next;
  };
  try {
    await runControllers({ ...options, client, election: { identity, onTerm } }, signal);
  } finally {
    client.close();
  }
}
