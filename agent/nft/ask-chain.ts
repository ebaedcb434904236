import { type NftProcess, NftRefusedError } from './nft-process.ts';

/** What is known of a chain: a rule leads to it; none does; it is not there. */
export type ChainState = 'used' | 'unused' | 'missing';

type Nft = Pick<NftProcess, 'run'>;

interface Question {
  readonly chain: string;
  readonly settle: (state: Promise<ChainState>) => void;
}

const waiting = new WeakMap<Nft, Question[]>();

/**
 * Asks for a chain ("ip filter NAME") in a transaction which changes nothing while a rule leads to it: nft refuses to
 * delete it then. A chain that is unused is empty afterwards. A transaction costs nft about a millisecond, whatever it
 * asks (it makes a cache of all tables each time), so questions of one moment share one.
 * @throws NftLostError
 */
export function askChain(nft: Nft, chain: string): Promise<ChainState> {
  return new Promise((resolve) => {
    const question = { chain, settle: resolve };
    const others = waiting.get(nft);
    if (others !== undefined) {
      others.push(question);
      return;
    }
    const questions = [question];
    waiting.set(nft, questions);
    setImmediate(() => {
      waiting.delete(nft);
      const together = askTogether(
        nft,
        questions.map((each) => each.chain),
      );
      for (const [index, { settle }] of questions.entries()) settle(together.then((states) => states[index]!));
    });
  });
}

/**
 * Of the moment that checks are due: the same for all that check so often, so that they ask together (with
 * `withSharedTimers`). Timers come some milliseconds early at times: a check at such a moment counts, and is not
 * repeated at once.
 */
export function untilCheck(everyMs: number, nowMs: number): number {
  const ms = everyMs - (nowMs % everyMs);
  return ms <= earlyMs ? ms + everyMs : ms;
}

/** How early a check may come. */
export const earlyMs = 50;

async function askTogether(nft: Nft, chains: readonly string[]): Promise<readonly ChainState[]> {
  const states = await ask(nft, chains);
  if (states !== 'various') return states;
  const each: ChainState[] = [];
  for (const chain of chains) each.push(...((await ask(nft, [chain])) as ChainState[]));
  return each;
}

/** nft complains about each command that fails, and undoes all of them. */
async function ask(nft: Nft, chains: readonly string[]): Promise<readonly ChainState[] | 'various'> {
  try {
    await nft.run(chains.map((chain) => `delete chain ${chain}; add chain ${chain}`).join('; '));
    return chains.map(() => 'unused');
  } catch (error) {
    if (!(error instanceof NftRefusedError)) throw error;
    if (error.busy === chains.length) return chains.map(() => 'used');
    return chains.length === 1 ? ['missing'] : 'various';
  }
}
