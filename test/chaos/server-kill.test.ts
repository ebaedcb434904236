import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Client, type ConfigMap, isNotFound, listAll, type WatchEvent } from '../../client/index.ts';
import { freePort } from '../e2e/installation.ts';
import { type BerthProcess, connectAdmin, startServer } from './processes.ts';
import { type Chance, createChance } from './random.ts';

const rounds = 12;
const writers = 12;
/** Some rounds die before the first write, some in the middle of many. */
const longestLifeMs = 1_500;
/** Fewer would mean that the server was hardly ever written to. */
const fewestWrites = 200;

let dataDir: string;
let address: string;
let server: BerthProcess | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-server-kill-'));
  address = `127.0.0.1:${await freePort()}`;
});
afterEach(async () => {
  await server?.kill();
  await rm(dataDir, { recursive: true, force: true });
});

const version = (object: ConfigMap): number => Number(object.metadata?.resourceVersion);
const nameOf = (object: ConfigMap): string => object.metadata?.name ?? '';
const say = (type: string, object: ConfigMap): string => `${type} ${nameOf(object)} ${object.data?.step ?? ''}`;

/** What the clients were told: writes that were acknowledged, and for each name the one that never got its answer. */
class Account {
  /** By version: "ADDED name step" and the like. */
  readonly acknowledged = new Map<number, string>();
  readonly last = new Map<string, string | undefined>();
  readonly inFlight = new Map<string, string | undefined>();

  /** Begins a write; the step that the object will have, undefined when it is deleted. Throws what the call throws. */
  async write(type: string, name: string, step: string | undefined, call: () => Promise<ConfigMap>): Promise<void> {
    this.inFlight.set(name, step);
    const object = await call();
    this.inFlight.delete(name);
    expect(this.acknowledged.has(version(object)), `version ${version(object)} was given out once`).toBe(false);
    this.acknowledged.set(version(object), say(type, object));
    this.last.set(name, step);
  }
}

/** Creates, changes and deletes objects of its own until the server is gone. */
async function writeUntilKilled({ configMaps }: Client, account: Account, writer: string, round: number): Promise<void> {
  for (let i = 0; ; i++) {
    const name = `${writer}-${i % 5}`;
    const step = `${round}.${i}`;
    const key = { namespace: 'default', name };
    const object: ConfigMap = { metadata: key, data: { step, filling: 'x'.repeat((i * 97) % 3_000) } };
    try {
      if (account.last.get(name) === undefined) await account.write('ADDED', name, step, () => configMaps.create(object));
      else if (i % 3 === 0) await account.write('DELETED', name, undefined, () => configMaps.delete(key));
      else await account.write('MODIFIED', name, step, () => configMaps.patch(key, { data: { step } }));
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(UNAVAILABLE|CANCELLED)$/) });
      return;
    }
  }
}

/** One watcher that goes on from the last version that it saw, whatever became of the server meanwhile. */
class Watcher {
  readonly events: WatchEvent<ConfigMap>[] = [];
  private from: string;

  constructor(from: string) {
    this.from = from;
  }

  /** Reads until the connection breaks or `enough`. */
  async read(client: Client, enough: (event: WatchEvent<ConfigMap>) => boolean): Promise<void> {
    const stop = new AbortController();
    const scope = { namespace: 'default', resourceVersion: this.from };
    try {
      for await (const batch of client.configMaps.watch(scope, { signal: stop.signal })) {
        this.events.push(...batch);
        this.from = batch.at(-1)?.object.metadata?.resourceVersion ?? this.from;
        if (batch.some(enough)) break;
      }
    } catch (error) {
      expect(error).toMatchObject({ code: 'UNAVAILABLE' });
    } finally {
      stop.abort();
    }
  }
}

/** Every acknowledged write is there; one that never got its answer happened or did not. */
async function checkState(client: Client, account: Account): Promise<void> {
  for (const name of new Set([...account.last.keys(), ...account.inFlight.keys()])) {
    const found = await client.configMaps.get({ namespace: 'default', name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
    const step = found?.data?.step;
    const possible = account.inFlight.has(name) ? [account.last.get(name), account.inFlight.get(name)] : [account.last.get(name)];
    expect(possible, name).toContain(step);
    account.last.set(name, step);
  }
  account.inFlight.clear();
}

async function liveAndDie(account: Account, watcher: Watcher, round: number, chance: Chance): Promise<void> {
  server = await startServer(dataDir, address);
  const [writing, watching] = await Promise.all([connectAdmin(dataDir, address), connectAdmin(dataDir, address)]);
  await checkState(writing, account);
  const reading = watcher.read(watching, () => false);
  const loops = Array.from({ length: writers }, (_, i) => writeUntilKilled(writing, account, `w${i}`, round));
  await delay(chance.below(longestLifeMs));
  await server.kill();
  await Promise.all([...loops, reading]);
  writing.close();
  watching.close();
}

it('loses no acknowledged write to kill -9, and a watcher that resumes sees every change exactly once', async () => {
  const chance = createChance('server killed under writers');
  const account = new Account();
  // Version 1 exists in every store: this watcher sees everything from the beginning.
  const watcher = new Watcher('1');
  for (let round = 0; round < rounds; round++) await liveAndDie(account, watcher, round, chance);

  server = await startServer(dataDir, address);
  const client = await connectAdmin(dataDir, address);
  await checkState(client, account);
  const end = await client.configMaps.create({ metadata: { namespace: 'default', name: 'end' } });
  await watcher.read(client, (event) => nameOf(event.object) === 'end');
  const seen = new Map(watcher.events.map(({ type, object }) => [version(object), say(type, object)]));
  const versions = watcher.events.map(({ object }) => version(object));
  expect(versions, 'in order and nothing twice').toEqual([...seen.keys()].sort((a, b) => a - b));
  expect(account.acknowledged.size).toBeGreaterThan(fewestWrites);
  for (const [at, what] of account.acknowledged) expect(seen.get(at), `the change at ${at}`).toBe(what);

  // What happened without an acknowledgement was seen as well: the changes add up to the state.
  const state = new Map<string, string | undefined>();
  for (const { type, object } of watcher.events) {
    if (type === 'DELETED') state.delete(nameOf(object));
    else state.set(nameOf(object), object.metadata?.resourceVersion);
  }
  const { items } = await listAll(client.configMaps, { namespace: 'default' });
  expect(items).toContainEqual(end);
  expect(state).toEqual(new Map(items.map((object) => [nameOf(object), object.metadata?.resourceVersion])));
  process.stdout.write(
    `${account.acknowledged.size} writes acknowledged and ${watcher.events.length} changes seen over ${rounds} kills\n`,
  );
  client.close();
});
