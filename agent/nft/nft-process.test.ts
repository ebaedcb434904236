import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { NftLostError, NftProcess, NftRefusedError, parseAnswer } from './nft-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-nft-'));
const open: NftProcess[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const nft of open.splice(0)) nft.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A program in nft's place that answers each line by a shell's case; other lines are syntax errors, as nft's. */
function createNft(cases: string, options: { timeoutMs?: number; maxWaiting?: number } = {}): NftProcess {
  const program = join(folder, `nft-${open.length}-${Math.random()}`);
  const unknown = '*) printf "Error: syntax error, unexpected newline\\n%s\\n   ^\\n" "$line" >&2 ;;';
  writeFileSync(program, `#!/bin/sh\nwhile read -r line; do case "$line" in ${cases} ${unknown} esac; done\n`);
  chmodSync(program, 0o755);
  const nft = new NftProcess({ prefix: [program], ...options });
  open.push(nft);
  return nft;
}

it('resolves what nft accepts and rejects what it refuses, each with its own answer', async () => {
  const nft = createNft('good*) ;; bad*) printf "Error: no such table %s\\n%s\\n^^^\\n" "$line" "$line" >&2 ;;');
  const results = await Promise.allSettled([nft.run('good 1'), nft.run('bad 2'), nft.run('good 3'), nft.run('bad 4')]);
  expect(results.map((result) => (result.status === 'fulfilled' ? 'ok' : result.reason.message.split('\n')[0]))).toEqual([
    'ok',
    'run nft: Error: no such table bad 2',
    'ok',
    'run nft: Error: no such table bad 4',
  ]);
  await expect(nft.run('bad')).rejects.toBeInstanceOf(NftRefusedError);
});

it.each([
  ['Could not process rule: Device or resource busy', 1],
  ['Could not process rule: Resource busy', 1],
  ['Could not process rule: File exists', 0],
  ['No such file or directory; did you mean chain busy in table ip a?', 0],
])('counts of "%s" what is in use', async (words, busy) => {
  const nft = createNft(`bad*) printf "Error: ${words}\\n%s\\n^^^\\n" "$line" >&2 ;;`);
  await expect(nft.run('bad')).rejects.toMatchObject({ busy, message: expect.stringContaining(words) });
});

it.each([
  ['ends', 'die) exit 3 ;;', /the process ended \(3\)/],
  ['says what is no answer', 'die) echo garbage >&2 ;;', /makes no sense: garbage/],
  ['says nothing', 'die) exec sleep 100 ;;', /no answer in time/],
])('reports a loss when nft %s, fails what waits, and starts another', async (_, cases, message) => {
  const nft = createNft(`good) ;; ${cases}`, { timeoutMs: 1_000 });
  await nft.run('good');
  const first = nft.pid;
  const [lost, waiting] = await Promise.allSettled([nft.run('die'), nft.run('good')]);
  expect(lost).toMatchObject({
    status: 'rejected',
    reason: expect.objectContaining({ message: expect.stringMatching(message) }),
  });
  expect(waiting).toMatchObject({ status: 'rejected', reason: expect.any(NftLostError) });
  await nft.run('good');
  expect(nft.pid).not.toBe(first);
});

it('waits longer for a long transaction', async () => {
  const nft = new NftProcess({ prefix: ['sh', '-c', 'cat >/dev/null; sleep 1.2'], timeoutMs: 500 });
  open.push(nft);
  await expect(nft.run('x'.repeat(5_000))).rejects.toThrow('no answer in time');
  await nft.run('x'.repeat(1_000_000));
});

it('keeps its process from transaction to transaction', async () => {
  const nft = createNft('good) ;;');
  await nft.run('good');
  const { pid } = nft;
  await nft.run('good');
  expect(nft.pid).toBe(pid);
});

it('replaces its process after many transactions, without losing one: nft walks through all lines that it has had', async () => {
  const nft = createNft('good*) ;; bad) printf "Error: no\\nbad\\n" >&2 ;;', { maxWaiting: 600 });
  await nft.run('good');
  const { pid } = nft;
  await Promise.all(Array.from({ length: 248 }, (_, n) => nft.run(`good ${n}`)));
  // A long one has a process of its own.
  await nft.run(`good ${'x'.repeat(5_000)}`);
  expect(nft.pid).toBe(pid);
  await expect(nft.run('bad')).rejects.toThrow('no');
  expect(nft.pid).not.toBe(pid);
  expect(nft.pid).toBeDefined();
  await Promise.all(Array.from({ length: 600 }, (_, n) => nft.run(`good ${n}`)));
  await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
});

it('gives nft no home folder, where it would write down what it is told', async () => {
  await createNft('good) [ "$HOME" = /dev/null ] || exit 3 ;;').run('good');
});

it('lets nft keep its memory from transaction to transaction, whatever the agent has set for itself', async () => {
  vi.stubEnv('MALLOC_MMAP_THRESHOLD_', '65536');
  vi.stubEnv('MALLOC_TRIM_THRESHOLD_', '131072');
  await createNft('good) [ "$MALLOC_MMAP_THRESHOLD_ $MALLOC_TRIM_THRESHOLD_" = "4194304 8388608" ] || exit 3 ;;').run('good');
});

it('refuses more transactions than may wait, more than one line, and all after it was closed', async () => {
  const nft = createNft('slow) sleep 0.2 ;;', { maxWaiting: 2 });
  const accepted = [nft.run('slow'), nft.run('slow'), nft.run('slow')];
  await expect(nft.run('slow')).rejects.toThrow('2 transactions wait already');
  await Promise.all(accepted);
  await expect(nft.run('one\ntwo')).rejects.toThrow('a transaction is one line');
  nft.close();
  await expect(nft.run('slow')).rejects.toThrow('closed');
});

it('says which package is missing', async () => {
  const nft = new NftProcess({ prefix: [join(folder, 'missing')] });
  await expect(nft.run('good')).rejects.toThrow(/ENOENT.*package nftables/);
});

it('waits for the whole end of an answer, and passes over the marks that the one before left behind', () => {
  const complaint = 'Error: syntax error, unexpected newline\nend_2\n';
  expect(parseAnswer('   ^^\nError: syntax err', 'end_2')).toBe(undefined);
  expect(parseAnswer(`   ^^\n${complaint}`, 'end_2')).toBe('');
  expect(parseAnswer(`   ^\nError: no such file\nadd x\n^\n${complaint}`, 'end_2')).toBe('Error: no such file\nadd x\n^');
  expect(parseAnswer(`Segmentation\n${complaint}`, 'end_2')).toBe('nonsense');
});
