import { openStorage } from '../../apiserver/storage/open-storage.ts';
import type { Durability, Storage, Write } from '../../apiserver/storage/storage.ts';
import type { Chance } from './random.ts';
import { type Answers, print, type Questions, synced } from './storage-answers.ts';

/** A store of which is known what it has to answer. */
export interface KnownStore {
  readonly questions: Questions;
  readonly truth: Answers;
}

interface Fact {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly revision: number;
  readonly bytes: Buffer;
}

/** What was acknowledged, noted by its writer. */
class Account {
  readonly facts: Fact[] = [];
  readonly keys = new Set<string>();

  stateAt(revision: number): Map<string, Fact> {
    const state = new Map<string, Fact>();
    for (const fact of this.facts) if (fact.revision <= revision) state.set(fact.key, fact);
    for (const [key, { type }] of state) if (type === 'delete') state.delete(key);
    return state;
  }

  listAt(revision: number): string[] {
    const items = [...this.stateAt(revision).values()].filter(({ key }) => key.startsWith(synced));
    return items.map((fact) => `${fact.key} ${print(fact)}`).sort();
  }
}

export const chaosWrite = (bytes: Uint8Array, durability: Durability): Write => ({
  kind: 'Pod',
  bytes,
  user: 'chaos',
  manager: 'chaos',
  verb: 'write',
  durability,
});

/** One writer's next step: creates, changes or deletes the key. */
async function step(storage: Storage, account: Account, key: string, chance: Chance): Promise<void> {
  const durability = key.startsWith(synced) ? 'synced' : 'relaxed';
  const size = chance.below(20) === 0 ? chance.below(60_000) : chance.below(3_000);
  const bytes = Buffer.from(Array.from({ length: size }, () => 33 + chance.below(90)));
  const write = chaosWrite(bytes, durability);
  const current = await storage.get(key);
  const type = current && chance.below(5) === 0 ? 'delete' : 'put';
  const put = (): Promise<number> => (current ? storage.update(key, current.revision, write) : storage.create(key, write));
  const revision = type === 'delete' ? await storage.delete(key, current!.revision, write) : await put();
  account.keys.add(key);
  account.facts.push({ type, key, revision, bytes });
}

/** Makes a store with a history, gaps where something was deleted, a compaction, and relaxed keys; closes it. */
export async function makeKnownStore(directory: string, chance: Chance, steps = 1_500): Promise<KnownStore> {
  // Without the reserve, whose pages hold nothing that could be damaged.
  const storage = await openStorage({ backend: 'lmdb', directory, freeBytes: () => 16 * 1024 * 1024 });
  const account = new Account();
  const newest = (): number => Math.max(...account.facts.map(({ revision }) => revision));
  let [at, from] = [0, 0];
  for (let done = 0; done < steps; ) {
    const keys = new Set(
      Array.from({ length: 40 }, () => (chance.below(8) === 0 ? `leases/${chance.below(20)}` : `${synced}${chance.below(500)}`)),
    );
    await Promise.all([...keys].map((key) => step(storage, account, key, chance)));
    done += keys.size;
    if (from === 0 && done > steps / 2) from = newest();
    if (at === 0 && done > (steps * 3) / 4) at = newest();
  }
  await storage.compact(from);
  await storage.close();
  account.facts.sort((a, b) => a.revision - b.revision);
  const state = account.stateAt(newest());
  const keys = [...account.keys].sort();
  const truth: Answers = {
    gets: Object.fromEntries(keys.map((key) => [key, state.has(key) ? print(state.get(key)!) : 'none'])),
    list: account.listAt(newest()),
    past: account.listAt(at),
    events: account.facts
      .filter(({ key, revision }) => key.startsWith(synced) && revision > from)
      .map((fact) => `${fact.type} ${fact.key} ${print(fact)}`),
  };
  return {
    questions: {
      keys,
      at,
      from,
      newest: Math.max(...account.facts.filter(({ key }) => key.startsWith(synced)).map(({ revision }) => revision)),
    },
    truth,
  };
}
