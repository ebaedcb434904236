import type { X509Certificate } from 'node:crypto';
import { describeSkew, type Endpoint, JoinProblem, judgeAuthority, judgeCertificate } from './judge-server.ts';
import { askTime, reach, shakeHands } from './reach.ts';

/** The server that was meant. */
export interface MetServer {
  /** The only one to trust from now on. */
  readonly authority: X509Certificate;
  /** How far the clocks differ, when it is worth a word. */
  readonly skew: string | undefined;
}

/**
 * Finds out whether a machine can join: the address is reached, the server has the authority of the hash, the clocks
 * agree, and the certificate is for the address. Sends nothing before the authority is known. Throws a JoinProblem with
 * the cause.
 */
export async function meetServer(endpoint: Endpoint, hashes: readonly string[], now: () => number): Promise<MetServer> {
  const { tls, shown } = await shakeHands(await reach(endpoint), endpoint);
  try {
    const authority = judgeAuthority(endpoint, shown, hashes);
    const skew = describeSkew(await askTime(tls, endpoint), now());
    if (skew?.isTooMuch)
      throw new JoinProblem(
        `${skew.text}: certificates would not be good here. Set the clock (timedatectl set-ntp true), then run this again`,
      );
    const problem = judgeCertificate(shown.chain[0]!, endpoint, now());
    if (problem !== undefined) throw new JoinProblem(problem);
    return { authority, skew: skew?.text };
  } finally {
    tls.destroy();
  }
}
