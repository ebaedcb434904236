import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound } from '../../api/errors/index.ts';
import { linkAbort } from '../../client/abort.ts';
import { type Clock, systemClock } from '../../client/clock.ts';
import { type ConnectOptions, connect } from '../../client/index.ts';
import { type Logger, stderrLogger } from '../../client/logger.ts';
import { inParallel } from '../figure.ts';
import { startHollowNode } from './node.ts';
import { completeHollowOptions, type HollowOptions, hollowNodeName } from './options.ts';
import { createHollowShared } from './ports.ts';
import { untilReady } from './until-ready.ts';

export interface StartOptions {
  readonly count: number;
  /** How an administrator connects to the server. */
  readonly admin: ConnectOptions;
  readonly options?: HollowOptions | undefined;
  /** Where the agents keep their folders; by default a folder for this prefix and server among the temporary files. */
  readonly stateDir?: string | undefined;
  /** Told when another node has become ready. */
  readonly onProgress?: (ready: number) => void;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** Nodes that are all ready. */
export interface HollowNodes {
  readonly names: readonly string[];
  /**
   * Resolves when every agent has ended after the signal; rejects when one could not go on, and then the others end.
   */
  readonly ended: Promise<void>;
  /** Ends one agent, as a machine that loses its power; the others run on. Throws when no node has the name. */
  lose(name: string): Promise<void>;
  /** Deletes the Node objects; to be called when the agents have ended. */
  remove(): Promise<void>;
}

/** Agents that register at once: more only make the server's queues longer. */
const atOnce = 20;
const userAgent = 'berth-hollow';

/**
 * Runs so many real agents in this process, each with an identity and a connection of its own, on machines that are in
 * memory. Resolves when the API says that all are ready. Rejects when one cannot start or the signal aborts, once all
 * others have ended.
 */
export async function startHollowNodes(start: StartOptions, signal: AbortSignal): Promise<HollowNodes> {
  const { count, admin, onProgress, logger = stderrLogger, clock = systemClock } = start;
  const options = completeHollowOptions(start.options ?? {});
  const stateDir = start.stateDir ?? defaultStateDir(admin.address, options.namePrefix);
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const abort = linkAbort(signal);
  // Each agent listens to it.
  setMaxListeners(0, abort.signal);
  const client = connect({ ...admin, userAgent });
  const shared = createHollowShared(options, clock);
  const names = Array.from({ length: count }, (_, index) => hollowNodeName(options.namePrefix, index));
  const lost = names.map(() => linkAbort(abort.signal));
  const agents = startAgents(count, (index) =>
    startHollowNode({ shared, index, admin, client, stateDir, logger }, lost[index]!.signal),
  );
  const end = async () => {
    abort.abort();
    await agents.settled();
    for (const one of lost) one.unlink();
    abort.unlink();
    client.close();
    await rm(stateDir, { recursive: true, force: true });
  };
  try {
    const wait = { client, names, bootID: shared.bootID, clock, logger, ...(onProgress && { onProgress }) };
    await Promise.race([untilReady(wait, abort.signal), agents.failed]);
    signal.throwIfAborted();
  } catch (error) {
    await end();
    throw error;
  }
  const ended = Promise.race([agents.allEnded(), agents.failed]).finally(end);
  ended.catch(() => {});
  const lose = async (name: string) => {
    const index = names.indexOf(name);
    if (index === -1) throw new Error(`no hollow node is called "${name}"`);
    lost[index]!.abort();
    await agents.ended(index);
  };
  return { names, ended, lose, remove: () => removeNodes(admin, names) };
}

/** Starts them all, some at once. `failed` rejects with the first failure of any, and never resolves. */
function startAgents(count: number, startOne: (index: number) => Promise<{ readonly ended: Promise<void> }>) {
  const running = new Map<number, Promise<void>>();
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const started = inParallel(count, atOnce, async (index) => {
    const { ended } = await startOne(index);
    ended.catch(fail);
    running.set(index, ended);
  });
  started.catch(fail);
  return {
    failed,
    ended: async (index: number) => running.get(index),
    allEnded: async () => {
      await started;
      await Promise.all(running.values());
    },
    async settled(): Promise<void> {
      await Promise.allSettled([started]);
      await Promise.allSettled(running.values());
    },
  };
}

/**
 * The same each time: an agent that starts again has the same folder, and need not wait for the lease of its last run.
 */
function defaultStateDir(address: string, namePrefix: string): string {
  const name = createHash('sha256').update(`${address} ${namePrefix}`).digest('hex').slice(0, 12);
  return join(tmpdir(), `berth-hollow-${process.getuid?.() ?? 0}-${name}`);
}

async function removeNodes(admin: ConnectOptions, names: readonly string[]): Promise<void> {
  const client = connect({ ...admin, userAgent });
  try {
    await inParallel(names.length, atOnce, async (index) => {
      await client.nodes.delete({ name: names[index]! }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    });
  } finally {
    client.close();
  }
}
