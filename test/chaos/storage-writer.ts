import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Durability } from '../../apiserver/storage/storage.ts';

/*
 * The victim of storage-kill.test.ts: node storage-writer <directory> <round>. Writes as fast as it can with many writes in flight, and prints one line
 * for each acknowledged write ("+ key revision text", "- key revision" for a delete)
 * behind one that it began ("? key put", "? key delete"), until somebody kills it.
 */
const [directory, round] = process.argv.slice(2);
if (directory === undefined || round === undefined) throw new Error('name the directory and the round');
const storage = await openStorage({ backend: 'lmdb', directory });
process.stdout.write(`open ${(await storage.list('', { limit: 1 })).revision}\n`);

async function churn(key: string, durability: Durability): Promise<never> {
  const before = await storage.get(key);
  let revision = before?.revision ?? 0;
  for (let i = 0; ; i++) {
    const text = `${round}.${i}.${'x'.repeat((i * 37) % 900)}`;
    const write = { kind: 'Pod', bytes: Buffer.from(text), user: 'chaos', manager: 'chaos', verb: 'write', durability };
    if (revision > 0 && i % 7 === 6) {
      process.stdout.write(`? ${key} delete\n`);
      const removed = await storage.delete(key, revision, write);
      process.stdout.write(`- ${key} ${removed}\n`);
      revision = 0;
    } else {
      process.stdout.write(`? ${key} put\n`);
      revision = revision > 0 ? await storage.update(key, revision, write) : await storage.create(key, write);
      process.stdout.write(`+ ${key} ${revision} ${text}\n`);
    }
    if (i % 50 === 49 && key === 'pods/0') await storage.compact(revision - 100);
  }
}

await Promise.all([
  ...Array.from({ length: 8 }, (_, i) => churn(`pods/${i}`, 'synced')),
  ...Array.from({ length: 2 }, (_, i) => churn(`leases/${i}`, 'relaxed')),
]);
