import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Storage } from '../../apiserver/storage/storage.ts';

const rounds = 15;
const maxLifeMs = 400;
const hook = new URL('../conformance/storage-from-source.mjs', import.meta.url).href;
const program = fileURLToPath(new URL('./storage-writer.ts', import.meta.url));

/** What the writer has said. */
class Account {
  /** The last acknowledged state of each key; undefined: deleted. */
  readonly acknowledged = new Map<string, { revision: number; text: string | undefined }>();
  /** What was begun and not acknowledged: either outcome is right. */
  readonly begun = new Map<string, string>();
  readonly revisions = new Set<number>();
  highest = 0;
  isOpen = false;

  read(line: string): void {
    const [sign, key, revision, text] = line.split(' ');
    if (sign === 'open') {
      this.isOpen = true;
      expect(Number(key), 'the store never goes back behind an acknowledged revision').toBeGreaterThanOrEqual(this.highest);
    } else if (sign === '?') this.begun.set(key!, revision!);
    else {
      const number = Number(revision);
      expect(this.revisions.has(number), `revision ${number} was given out once`).toBe(false);
      this.revisions.add(number);
      this.highest = Math.max(this.highest, number);
      this.begun.delete(key!);
      this.acknowledged.set(key!, { revision: number, text: sign === '+' ? text : undefined });
    }
  }
}

/** Lets the writer live for a random time behind its start, then kills it; everything that it managed to say counts. */
async function runAndKill(directory: string, round: number, account: Account): Promise<void> {
  const child = spawn(process.execPath, ['--import', hook, program, directory, `${round}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let rest = '';
  let complaint = '';
  let timer: NodeJS.Timeout | undefined;
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop()!;
    for (const line of lines) account.read(line);
    if (account.isOpen) timer ??= setTimeout(() => child.kill('SIGKILL'), Math.random() * maxLifeMs);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  account.isOpen = false;
  expect({ code, signal, complaint: signal === 'SIGKILL' ? '' : complaint }).toEqual({
    code: null,
    signal: 'SIGKILL',
    complaint: '',
  });
}

async function checkSynced(storage: Storage, account: Account): Promise<void> {
  for (const [key, { revision, text }] of account.acknowledged) {
    if (key.startsWith('leases/')) continue;
    const found = await storage.get(key);
    // The write in flight may have reached the disk before the kill, only its acknowledgement was lost:
    // a later revision, or a deletion.
    const begun = account.begun.get(key);
    if (begun === 'put' && found && found.revision > revision) continue;
    if (begun === 'delete' && !found) continue;
    if (found) expect(found.revision, key).toBe(revision);
    expect(found && Buffer.from(found.bytes).toString(), `${key} at ${revision}`).toBe(text);
  }
}

it('keeps every acknowledged synced write and uses no revision twice, however often the server is killed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-chaos-'));
  const account = new Account();
  try {
    for (let round = 0; round < rounds; round++) {
      await runAndKill(directory, round, account);
      // Opening verifies the store in a child first: damage would refuse it here.
      const storage = await openStorage({ backend: 'lmdb', directory });
      await checkSynced(storage, account);
      const { revision } = await storage.list('', { limit: 1 });
      expect(revision).toBeGreaterThanOrEqual(account.highest);
      account.highest = revision;
      account.begun.clear();
      account.acknowledged.clear();
      for (const { key, bytes, revision: at } of (await storage.list('pods/')).items)
        account.acknowledged.set(key, { revision: at, text: Buffer.from(bytes).toString() });
      await storage.close();
    }
    expect(account.revisions.size).toBeGreaterThan(rounds * 10);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
