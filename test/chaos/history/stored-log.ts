import { decodeMessage } from '../../../api/codec/message.ts';
import type { ConfigMap } from '../../../api/generated/types.ts';
import { openStorage } from '../../../apiserver/storage/open-storage.ts';
import type { Storage } from '../../../apiserver/storage/storage.ts';
import { namespace } from './watcher.ts';
import type { Change } from './write-record.ts';

/** What a dead server has left behind: every change of the config maps, and those that there are. */
export interface Stored {
  readonly log: readonly Change[];
  readonly state: ReadonlyMap<string, number>;
}

const prefix = `configmaps/${namespace}/`;
const endKey = 'chaos/end';

/** Reads the store with nothing of the server but its storage; opening it verifies the whole file. */
export async function readStored(directory: string): Promise<Stored> {
  const storage = await openStorage({ backend: 'lmdb', directory });
  try {
    const { items } = await storage.list(prefix);
    const state = new Map(items.map(({ key, revision }) => [key.slice(prefix.length), revision]));
    return { log: await readLog(storage), state };
  } finally {
    await storage.close();
  }
}

async function readLog(storage: Storage): Promise<Change[]> {
  const write = {
    kind: 'End',
    bytes: new Uint8Array(0),
    user: 'chaos',
    manager: 'chaos',
    verb: 'create',
    durability: 'synced',
  } as const;
  const end = await storage.create(endKey, write);
  const log: Change[] = [];
  const alive = new Set<string>();
  const stop = new AbortController();
  for await (const batch of storage.watch({ prefix: '', from: 1 }, stop.signal)) {
    for (const { type, key, revision, bytes } of batch) {
      if (!key.startsWith(prefix)) continue;
      const name = key.slice(prefix.length);
      const { data } = decodeMessage<ConfigMap>('berth.core.v1.ConfigMap', bytes);
      log.push({
        type: type === 'delete' ? 'DELETED' : alive.has(name) ? 'MODIFIED' : 'ADDED',
        name,
        revision,
        step: data?.step ?? '',
      });
      if (type === 'delete') alive.delete(name);
      else alive.add(name);
    }
    if (batch.at(-1)!.revision >= end) stop.abort();
  }
  return log;
}
