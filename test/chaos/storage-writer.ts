import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Durability } from '../../apiserver/storage/storage.ts';

/*
 * The victim of storage-kill.test.ts: node storage-writer <directory> <round>. Writes as fast as it can with many
 * writes in flight, and prints one line for each acknowledged write ("+ key revision text", "- key revision" for a
 * delete) behind one that it began ("? key put", "? key delete"), until it is killed.
 */
const [directory, round] = process.argv.slice(2);
if (directory === undefined || round === undefined) throw new Error('name the directory and the round');
const storage = await openStorage({ backend: 'lmdb', directory });

/**
 * Resolves when the kernel has the line: what waits in this process dies with it,
 * and the account would be of an earlier state.
 */
const say = (line: string): Promise<void> => new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));

await say(`open ${(await storage.list('', { limit: 1 })).revision}`);

async function churn(key: string, durability: Durability): Promise<never> {
  const before = await storage.get(key);
  let revision = before?.revision ?? 0;
  for (let i = 0; ; i++) {
    const text = `${round}.${i}.${'x'.repeat((i * 37) % 900)}`;
    const write = { kind: 'Pod', bytes: Buffer.from(text), user: 'chaos', manager: 'chaos', verb: 'write', durability };
    if (revision > 0 && i % 7 === 6) {
      await say(`? ${key} delete`);
      const removed = await storage.delete(key, revision, write);
      await say(`- ${key} ${removed}`);
      revision = 0;
    } else {
      await say(`? ${key} put`);
      revision = revision > 0 ? await storage.update(key, revision, write) : await storage.create(key, write);
      await say(`+ ${key} ${revision} ${text}`);
    }
    if (i % 50 === 49 && key === 'pods/0') await storage.compact(revision - 100);
  }
}

await Promise.all([
  ...Array.from({ length: 8 }, (_, i) => churn(`pods/${i}`, 'synced')),
  ...Array.from({ length: 2 }, (_, i) => churn(`leases/${i}`, 'relaxed')),
]);
