import { expect, it } from 'vitest';
import { askChain, untilCheck } from './ask-chain.ts';
import { NftRefusedError } from './nft-process.ts';

/** Words of nft about a transaction, in place of the kernel's tables: chains that rules lead to, and others. */
function createNft(used: ReadonlySet<string>, unused: ReadonlySet<string> = new Set()) {
  const lines: string[] = [];
  return {
    lines,
    run: (line: string): Promise<void> => {
      lines.push(line);
      const errors = [...line.matchAll(/delete chain ([^;]+)/g)].flatMap(([, chain = '']) => {
        if (used.has(chain)) return ['Error: Could not process rule: Device or resource busy'];
        return unused.has(chain) ? [] : ['Error: No such file or directory; did you mean table "a" in family ip?'];
      });
      return errors.length === 0 ? Promise.resolve() : Promise.reject(new NftRefusedError(errors.join('\n')));
    },
  };
}

it('asks for all chains of one moment in one transaction while all are in use', async () => {
  const nft = createNft(new Set(['ip a x', 'ip b y', 'ip c z']));
  const states = await Promise.all(['ip a x', 'ip b y', 'ip c z'].map((chain) => askChain(nft, chain)));
  expect(states).toEqual(['used', 'used', 'used']);
  expect(nft.lines).toHaveLength(1);
  await askChain(nft, 'ip a x');
  expect(nft.lines).toHaveLength(2);
});

it('asks for each chain alone when one of them is not in use or not there', async () => {
  const nft = createNft(new Set(['ip a x']), new Set(['ip b y']));
  const states = await Promise.all(['ip a x', 'ip b y', 'ip c z'].map((chain) => askChain(nft, chain)));
  expect(states).toEqual(['used', 'unused', 'missing']);
  expect(nft.lines).toHaveLength(4);
});

it('fails all that ask together when nft is lost', async () => {
  const nft = { run: () => Promise.reject(new Error('lost')) };
  const results = await Promise.allSettled(['ip a x', 'ip b y'].map((chain) => askChain(nft, chain)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

it('lets all checks of one period fall on the same moments', () => {
  expect([0, 1, 1_900, 2_000, 4_500].map((now) => now + untilCheck(2_000, now))).toEqual([2_000, 2_000, 2_000, 4_000, 6_000]);
});

it('repeats no check that came some milliseconds early', () => {
  expect([1_950, 1_999, 2_001].map((now) => now + untilCheck(2_000, now))).toEqual([4_000, 4_000, 4_000]);
});
