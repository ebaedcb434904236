import { boundHeapGrowth } from '../../host/daemon/heap-growth.ts';
import { collectWhenIdle } from '../../host/daemon/idle-collection.ts';
import { adminConnection, type HollowCommand, parseHollowFlags } from './flags.ts';
import { createRareLogger } from './rare-logger.ts';
import { type HollowNodes, startHollowNodes } from './start.ts';

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** How often is told how far the start has come. */
const progressMs = 2_000;
/** When the server takes a silent node for lost. */
const lostSeconds = 30;

async function run(command: HollowCommand, signal: AbortSignal): Promise<void> {
  const { count, options, cleanup } = command;
  boundHeapGrowth();
  collectWhenIdle(signal);
  const admin = await adminConnection(command);
  const beganAt = Date.now();
  let ready = 0;
  say(`starting ${count} hollow nodes of ${admin.address}`);
  const progress = setInterval(() => say(`${ready} of ${count} nodes are ready`), progressMs);
  const onProgress = (now: number) => {
    ready = now;
  };
  let nodes: HollowNodes | undefined;
  try {
    nodes = await startHollowNodes({ count, admin, options, onProgress, logger: createRareLogger(say) }, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return say('stopped before all nodes were ready; the Node objects of those that were stay');
  } finally {
    clearInterval(progress);
  }
  // The only line on standard output: readers wait for it.
  process.stdout.write(`${count} hollow nodes are ready after ${((Date.now() - beganAt) / 1000).toFixed(1)} s\n`);
  say('they run until you press Ctrl-C');
  await nodes.ended;
  if (!cleanup)
    return say(`${count} hollow nodes have stopped; they become NotReady in ${lostSeconds} s, and their objects stay`);
  await nodes.remove();
  say(`${count} hollow nodes have stopped, and their Node objects are deleted`);
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
await run(parseHollowFlags(process.argv.slice(2)), stop.signal).catch((error: unknown) => {
  say(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
