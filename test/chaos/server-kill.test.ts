import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Client, type ConnectOptions, connect, listAll } from '../../client/index.ts';
import { freePort } from '../e2e/installation.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { Cast } from './history/cast.ts';
import { checkHistory } from './history/check-history.ts';
import { checkWatch, stateAt } from './history/check-watch.ts';
import { createRawWatcher } from './history/raw-watcher.ts';
import { readStored, type Stored } from './history/stored-log.ts';
import { namespace, revisionOf } from './history/watcher.ts';
import type { Outcome } from './history/write-record.ts';
import { selectsOdd } from './history/writers.ts';
import { type BerthProcess, beginServer, startServer } from './processes.ts';
import { type Chance, createChance } from './random.ts';

const rounds = effort(24, 300);
/** Some lives end before the first write, some in the middle of many. */
const longestLifeMs = 1_500;
/** Who is killed so soon has not listened yet. */
const longestStartMs = 700;
/**
 * So many revisions are replayed at a start (docs/design/apiserver.md): a watch from before them may be expired,
 * no other.
 */
const replayed = 100_000;
/** Fewer would mean that the server was hardly ever written to. */
const fewestWritesPerRound = 15;
const flags = ['--no-scheduler', '--no-controllers'];

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

async function admin(): Promise<ConnectOptions> {
  const read = (file: string): Promise<string> => readFile(join(dataDir, 'pki', file), 'utf8');
  return { address, ca: await read('ca.crt'), cert: await read('admin.crt'), key: await read('admin.key') };
}

const newestVersion = async ({ configMaps }: Client): Promise<number> =>
  Number((await configMaps.list({ namespace, limit: 1 })).metadata.resourceVersion);

/** Every sixth life ends while the server still starts. */
async function dieWhileStarting(chance: Chance): Promise<boolean> {
  if (chance.below(6) > 0) return false;
  const { kill, listening } = beginServer(dataDir, address, ...flags);
  listening.catch(() => {});
  await delay(chance.below(longestStartMs));
  await kill();
  return true;
}

/** One life of the server: all clients write and watch, until it is killed. */
async function liveAndDie(cast: Cast, target: ConnectOptions, round: number, chance: Chance): Promise<void> {
  server = await startServer(dataDir, address, ...flags);
  const client = connect(target);
  cast.starts.push(await newestVersion(client));
  const marker = await cast.mark(client, round);
  let isKilled = false;
  const writing = cast.write(client, round, () => isKilled);
  if (chance.below(4) === 0) cast.openGate();
  else cast.closeGate();
  // Mostly all are back before the server goes again; sometimes it goes while they come.
  const awake = cast.watchers.filter(({ name }) => name !== 'sleeper');
  if (chance.below(3) > 0) await cast.unlessItFails(Promise.all(awake.map(({ sight }) => sight.reached(marker))));
  await cast.unlessItFails(delay(chance.below(longestLifeMs)));
  isKilled = true;
  await server.kill();
  await writing;
  client.close();
}

/** What clients were told, what watchers saw, what a new list says, and what is stored, compared with each other. */
function violationsOf(cast: Cast, stored: Stored, listed: ReadonlyMap<string, number>): string[] {
  const found = checkHistory(cast.history.writes, stored.log, cast.starts);
  for (const { name, sight } of cast.watchers) {
    const selects = name === 'selecting watch' ? selectsOdd : undefined;
    for (const stretch of sight.stretches) found.push(...checkWatch(name, stretch, stored.log, selects));
    for (const { from, newest } of sight.expired)
      if (newest - from < replayed) found.push(`${name}: version ${from} was refused as expired when the newest was ${newest}`);
  }
  for (const { revision, objects } of cast.reflector.lists)
    if (!isEqual(objects, stateAt(stored.log, revision))) found.push(`a list at ${revision} shows another state than the log`);
  if (!isEqual(listed, stored.state)) found.push('the last list shows another state than the store');
  if (!isEqual(stored.state, stateAt(stored.log, Number.POSITIVE_INFINITY))) found.push('the log does not add up to the state');
  const relaxed = new Set(cast.relaxed);
  if (relaxed.size !== cast.relaxed.length) found.push('two relaxed writes got one revision');
  for (const { revision } of stored.log)
    if (relaxed.has(revision)) found.push(`revision ${revision} was given to a relaxed write too`);
  return found;
}

const isEqual = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean =>
  a.size === b.size && [...a].every(([name, revision]) => b.get(name) === revision);

it(
  'loses no acknowledged write to kill -9, uses no revision twice, and every watcher that resumes sees every change exactly once',
  async () => {
    const chance = createChance('server killed under writers');
    server = await startServer(dataDir, address, ...flags);
    const target = await admin();
    const cast = new Cast(target, chance, 1);
    cast.start();
    await server.kill();
    let killedWhileStarting = 0;
    for (let round = 0; round < rounds; round++) {
      if (await dieWhileStarting(chance)) killedWhileStarting++;
      await liveAndDie(cast, target, round, chance);
    }

    server = await startServer(dataDir, address, ...flags);
    const client = connect(target);
    cast.starts.push(await newestVersion(client));
    cast.openGate();
    const end = await cast.mark(client, rounds);
    await cast.unlessItFails(Promise.all(cast.watchers.map(({ sight }) => sight.reached(end))));
    // A new watcher starts from as far back as the contract allows.
    const late = createRawWatcher(target, { name: 'late watch', from: Math.max(1, end - replayed / 2), bookmarks: false });
    const stop = new AbortController();
    const watching = late.run(stop.signal);
    await late.sight.reached(end);
    stop.abort();
    await watching;
    await cast.end();
    const { items } = await listAll(client.configMaps, { namespace });
    client.close();
    await server.kill();

    const stored = await readStored(join(dataDir, 'store'));
    const listed = new Map(items.map((object) => [object.metadata?.name ?? '', revisionOf(object)]));
    const violations = [
      ...violationsOf(cast, stored, listed),
      ...late.sight.stretches.flatMap((stretch) => checkWatch(late.name, stretch, stored.log)),
    ];
    const count = (outcome: Outcome): number => cast.history.writes.filter((write) => write.outcome === outcome).length;
    const watchers = [...cast.watchers, late];
    printCounts('server kill', {
      rounds,
      'killed while starting': killedWhileStarting,
      'writes acknowledged': count('acknowledged'),
      'writes refused': count('refused'),
      'writes indeterminate': count('indeterminate'),
      'relaxed writes acknowledged': cast.relaxed.length,
      'changes in the log': stored.log.length,
      'watch events': watchers.reduce((sum, { sight }) => sum + sight.count, 0),
      'watches resumed': watchers.reduce((sum, { sight }) => sum + sight.resumes, 0),
      'versions expired': watchers.reduce((sum, { sight }) => sum + sight.expired.length, 0),
      violations: violations.length,
    });
    expect(violations.slice(0, 20)).toEqual([]);
    expect(late.sight.expired).toEqual([]);
    expect(count('acknowledged')).toBeGreaterThan(rounds * fewestWritesPerRound);
    for (const { name, sight } of cast.watchers)
      expect(sight.resumes, name).toBeGreaterThan(name === 'sleeper' ? 0 : rounds / 10);
  },
  effort(600_000, 3_600_000),
);
