import { createReadStream } from 'node:fs';
import { restoreStore } from '../../apiserver/storage/lmdb/restore.ts';
import { shrinkStore } from '../../apiserver/storage/lmdb/shrink.ts';

/*
 * The one who is killed in backup-faults.test.ts: node store-worker shrink|restore <directory> [<backup>]. Says "begun"
 * when it begins, and "done" when it has ended.
 */
const [task, directory, backup] = process.argv.slice(2);
if (directory === undefined) throw new Error('name the task and the directory');
process.stdout.write('begun\n');
if (task === 'shrink') await shrinkStore(directory, () => undefined);
else await restoreStore({ directory, backup: createReadStream(backup!), name: backup!, force: true, now: new Date() });
process.stdout.write('done\n');
