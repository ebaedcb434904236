import { type Client, type ConfigMap, isNotFound, type Lease, type ResourceClient } from '../../../client/index.ts';
import { Ticks } from '../history/write-record.ts';
import type { Chance } from '../random.ts';
import type { Operation } from './checker.ts';

/** The kind of object that carries the register's value. */
export type Carrier = 'ConfigMap' | 'Lease';

interface Register {
  readonly resource: ResourceClient<ConfigMap | Lease>;
  /** The object is replaced only by who names a version: to write in any case is a patch. */
  readonly needsVersion?: true;
  withValue(value: string): object;
  valueOf(object: ConfigMap | Lease): string;
}

const registers: Readonly<Record<Carrier, (client: Client) => Register>> = {
  ConfigMap: ({ configMaps }) => ({
    resource: configMaps as ResourceClient<ConfigMap | Lease>,
    withValue: (value) => ({ data: { value } }),
    valueOf: (object) => (object as ConfigMap).data?.value ?? '',
  }),
  Lease: ({ leases }) => ({
    resource: leases as ResourceClient<ConfigMap | Lease>,
    needsVersion: true,
    withValue: (value) => ({ spec: { holderIdentity: value } }),
    valueOf: (object) => (object as Lease).spec?.holderIdentity ?? '',
  }),
};

const namespace = 'default';
const answers: Readonly<Record<string, Operation['answer']>> = {
  NOT_FOUND: 'not-found',
  ALREADY_EXISTS: 'exists',
  ABORTED: 'conflict',
};
const types = ['get', 'get', 'get', 'list', 'create', 'create', 'put', 'swap', 'swap', 'swap', 'delete', 'delete-swap'] as const;

/** A few objects, who did what to them, and what they were told. */
export class Registers {
  /** By the object's name. */
  readonly operations = new Map<string, Operation[]>();
  /** What calls without an answer failed with. */
  readonly lost: unknown[] = [];
  readonly #names: readonly string[];
  readonly #group: string;
  readonly #carrier: Carrier;
  readonly #chance: Chance;
  readonly #ticks = new Ticks();
  /** The versions that a client has seen: value -> resourceVersion. */
  readonly #versions = new Map<string, string>();
  /** Of each object, the latest values that a client has seen. */
  readonly #heard = new Map<string, string[]>();
  #values = 0;

  constructor(group: string, count: number, carrier: Carrier, chance: Chance) {
    this.#group = group;
    this.#names = Array.from({ length: count }, (_, i) => `${group}-${i}`);
    this.#carrier = carrier;
    this.#chance = chance;
    for (const name of this.#names) this.operations.set(name, []);
  }

  /** One operation of a random kind on a random object. Answers false when no answer came: the server is gone. */
  async operate(client: Client): Promise<boolean> {
    const name = this.#chance.pick(this.#names);
    const type = this.#chance.pick(types);
    if (type === 'list') return this.#list(client);
    const register = registers[this.#carrier](client);
    // Mostly the version that was heard of last; sometimes one that is long gone.
    const expected = this.#heard.get(name)?.at(-1 - Math.min(this.#chance.below(4), this.#chance.below(4)));
    if (type.endsWith('swap') && expected === undefined) return true;
    const value = `${this.#group}.${this.#values++}`;
    return this.#observe(name, { type, value, expected: type.endsWith('swap') ? expected : undefined }, async () => {
      const object = await this.#send(register, name, { type, value, expected });
      this.#hear(name, register, object);
      return object && register.valueOf(object);
    });
  }

  async #send({ resource, needsVersion, withValue }: Register, name: string, { type, value = '', expected = '' }: Planned) {
    const key = { namespace, name };
    const resourceVersion = this.#versions.get(expected) ?? '';
    const metadata = { ...key, labels: { group: this.#group } };
    switch (type) {
      case 'get':
        return resource.get(key);
      case 'create':
        return resource.create({ metadata, ...withValue(value) });
      case 'put':
        return needsVersion ? resource.patch(key, withValue(value)) : resource.update({ metadata, ...withValue(value) });
      case 'swap':
        return resource.update({ metadata: { ...metadata, resourceVersion }, ...withValue(value) });
      case 'delete':
      case 'delete-swap':
        await resource.delete(key, type === 'delete-swap' ? { preconditions: { resourceVersion } } : {});
        return undefined;
    }
  }

  /** A list shows every object of the group, as if each had been read. */
  async #list(client: Client): Promise<boolean> {
    const register = registers[this.#carrier](client);
    const invokedAt = this.#ticks.next();
    const page = await register.resource
      .list({ namespace, labelSelector: `group=${this.#group}` })
      .catch((error: unknown) => this.#lose(error));
    const returnedAt = this.#ticks.next();
    if (!page) return false;
    const found = new Map(page.items.map((object) => [object.metadata?.name, register.valueOf(object)]));
    for (const name of this.#names) {
      const value = found.get(name);
      const answer = value === undefined ? 'not-found' : 'ok';
      this.operations.get(name)!.push({ type: 'get', value, invokedAt, returnedAt, answer });
    }
    return true;
  }

  #hear(name: string, register: Register, object: ConfigMap | Lease | undefined): void {
    if (!object) return;
    const value = register.valueOf(object);
    this.#versions.set(value, object.metadata?.resourceVersion ?? '');
    this.#heard.set(name, [...(this.#heard.get(name) ?? []).filter((each) => each !== value).slice(-4), value]);
  }

  /** Everything else than a server that is gone is a fault. */
  #lose(error: unknown): undefined {
    const { code } = error as { code?: unknown };
    if (code !== 'UNAVAILABLE' && code !== 'CANCELLED') throw error;
    this.lost.push(error);
  }

  async #observe(name: string, plan: Planned, call: () => Promise<string | undefined>): Promise<boolean> {
    const invokedAt = this.#ticks.next();
    const isRead = plan.type === 'get';
    const keep = (rest: Pick<Operation, 'answer' | 'returnedAt' | 'value'>): void =>
      void this.operations.get(name)!.push({ ...plan, invokedAt, ...rest });
    try {
      const value = await call();
      keep({ answer: 'ok', returnedAt: this.#ticks.next(), value: isRead ? value : plan.value });
      return true;
    } catch (error) {
      const answer = isNotFound(error) ? 'not-found' : answers[(error as { code?: string }).code ?? ''];
      // A write without a version conflicts only when too many others write: that says nothing of the object.
      if (answer === 'conflict' && plan.expected === undefined) return true;
      if (answer !== undefined) {
        keep({ answer, returnedAt: this.#ticks.next(), value: isRead ? undefined : plan.value });
        return true;
      }
      this.#lose(error);
      // A read without an answer says nothing.
      if (!isRead) keep({ answer: 'unknown', returnedAt: Number.POSITIVE_INFINITY, value: plan.value });
      return false;
    }
  }
}

type Planned = Pick<Operation, 'type' | 'value' | 'expected'>;
