import type { Client, ConfigMap } from '../../../client/index.ts';
import { isNotFound } from '../../../client/index.ts';
import type { Chance } from '../random.ts';
import { namespace, revisionOf } from './watcher.ts';
import { isRefusal, type WriteHistory, type WriteRecord } from './write-record.ts';

/** Few enough that writers meet at them all the time. */
const names = Array.from({ length: 40 }, (_, i) => `object-${i}`);

/** The label by which one of the watchers selects. */
export const selectsOdd = (step: string): boolean => Number(step.split('.').at(-1)) % 2 === 1;

/** Creates, changes and deletes objects that others write as well, until the server is gone. */
export class Writers {
  readonly #history: WriteHistory;
  readonly #chance: Chance;
  /** The latest version that a writer has seen; it may be long out of date. */
  readonly #known = new Map<string, number | undefined>();
  #step = 0;

  constructor(history: WriteHistory, chance: Chance) {
    this.#history = history;
    this.#chance = chance;
  }

  /** `isKilled`: whether this life of the server is over. */
  async run(client: Client, round: number, isKilled: () => boolean): Promise<void> {
    for (;;) {
      const name = this.#chance.pick(names);
      const error = await this.#write(client, name, round);
      if (error === undefined) continue;
      if (!isRefusal(error)) return endOf(error, isKilled());
      // Another writer was faster.
      const found = await client.configMaps
        .get({ namespace, name })
        .catch((why: unknown) => (isNotFound(why) ? undefined : endOf(why, isKilled())));
      this.#known.set(name, found && revisionOf(found));
    }
  }

  /** One write of a random kind; answers what it failed with. */
  async #write(client: Client, name: string, round: number): Promise<unknown> {
    const known = this.#known.get(name);
    const kind = known === undefined ? 'create' : this.#chance.pick(kinds);
    const write = this.#plan(kind, name, known, round);
    const { answer, error } = await this.#history.record(write, () => send(client, kind, write), revisionOf);
    if (answer) this.#known.set(name, write.type === 'delete' ? undefined : revisionOf(answer));
    return error;
  }

  #plan(kind: Kind, name: string, known: number | undefined, round: number): Planned {
    const type = kind === 'create' ? 'create' : kind.startsWith('update') ? 'update' : 'delete';
    const step = type === 'delete' ? undefined : `${round}.${this.#step++}`;
    return { type, name, step, base: kind.endsWith('swap') ? known : undefined, round };
  }
}

/** With compare-and-swap and without; as often as they stand here. */
const kinds = ['update-swap', 'update-swap', 'update-swap', 'update-any', 'delete-swap', 'delete-any'] as const;
type Kind = (typeof kinds)[number] | 'create';
type Planned = Pick<WriteRecord, 'type' | 'name' | 'step' | 'base' | 'round'>;

function send({ configMaps }: Client, kind: Kind, { name, step = '', base }: Planned): Promise<ConfigMap> {
  const labels = { odd: String(selectsOdd(step)) };
  const resourceVersion = String(base ?? '');
  switch (kind) {
    case 'create':
      return configMaps.create({ metadata: { namespace, name, labels }, data: { step, filling: 'x'.repeat(300) } });
    case 'update-swap':
      return configMaps.update({ metadata: { namespace, name, labels, resourceVersion }, data: { step } });
    case 'update-any':
      return configMaps.patch({ namespace, name }, { metadata: { labels }, data: { step } });
    case 'delete-swap':
      return configMaps.delete({ namespace, name }, { preconditions: { resourceVersion } });
    case 'delete-any':
      return configMaps.delete({ namespace, name });
  }
}

/**
 * A client that lost its server stops; everything else that goes wrong is a fault. On a busy machine the client may
 * notice the loss only by its deadline, but a server that lives has to answer.
 */
export function endOf(error: unknown, isKilled: boolean): undefined {
  const { code } = error as { code?: unknown };
  if (code === 'UNAVAILABLE' || code === 'CANCELLED' || (isKilled && code === 'DEADLINE_EXCEEDED')) return undefined;
  throw error;
}
