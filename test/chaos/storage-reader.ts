import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Storage, Write } from '../../apiserver/storage/storage.ts';
import { StorageError } from '../../apiserver/storage/storage-error.ts';
import { type Answers, askAll, type Questions } from './storage-answers.ts';

/** What the reader says of a store, as one line of JSON. */
export type Report =
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  /** As it was opened, after more was written, and after it was opened once more with all of it verified. */
  | { readonly kind: 'served'; readonly answers: readonly Answers[]; readonly notices: readonly string[] };

/*
 * The one who opens damaged stores in storage-damage.test.ts: node storage-reader <directory> <questions>. It asks for
 * everything, goes on to write (a wrong list of free pages would now destroy something), and asks again.
 */
const [directory, questions] = process.argv.slice(2);
if (directory === undefined || questions === undefined) throw new Error('name the directory and the questions');
const notices: string[] = [];
const open = (): Promise<Storage> =>
  openStorage({ backend: 'lmdb', directory, freeBytes: () => 16 * 1024 * 1024, notice: (text) => notices.push(text) });

async function writeMore(storage: Storage): Promise<void> {
  const write = (size: number): Write => ({
    kind: 'Pod',
    bytes: Buffer.alloc(size, 'm'),
    user: 'chaos',
    manager: 'chaos',
    verb: 'create',
    durability: 'synced',
  });
  for (let round = 0; round < 4; round++)
    await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const key = `more/${round}-${i}`;
        const revision = await storage.create(key, write(50 + ((i * 977) % 9_000)));
        if (i % 3 > 0) await storage.delete(key, await storage.update(key, revision, write(3_000)), write(10));
      }),
    );
}

async function report(asked: Questions): Promise<Report> {
  try {
    const first = await open();
    const answers = [await askAll(first, asked)];
    await writeMore(first);
    answers.push(await askAll(first, asked));
    await first.close();
    await rm(join(directory!, 'clean'));
    const second = await open();
    answers.push(await askAll(second, asked));
    await second.close();
    return { kind: 'served', answers, notices };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { kind: 'refused', code: error.code, message: error.message };
  }
}

process.stdout.write(`${JSON.stringify(await report(JSON.parse(questions) as Questions))}\n`, () => process.exit(0));
