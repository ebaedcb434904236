import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { NamesChange } from './changes.ts';
import { Meter } from './meter.ts';
import { collectAtRest } from './rest-collection.ts';
import { type ServeOptions, serveNames } from './server.ts';

/** What the thread is made with. */
export interface WorkerInput {
  readonly options: ServeOptions;
  /** The memory of the Meter. */
  readonly counts: SharedArrayBuffer;
}

/** To the thread. */
export type WorkerRequest =
  | { readonly kind: 'apply'; readonly changes: readonly NamesChange[] }
  | { readonly kind: 'resolv-conf'; readonly text: string }
  | { readonly kind: 'close' };

/** From the thread: `ready` or `refused` first, and `closed` last. */
export type WorkerReport =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'exchanges'; readonly seconds: readonly number[] }
  | { readonly kind: 'loop'; readonly server: string }
  | { readonly kind: 'closed' };

/** Times of exchanges are sent together, so that the agent's thread wakes once a second at most. */
const reportMs = 1000;

/** What runs in the thread that resolver.ts starts: a server, fed by messages. Ends when it is told to close. */
async function run(port: MessagePort, { options, counts }: WorkerInput): Promise<void> {
  const report = (message: WorkerReport): void => port.postMessage(message);
  let seconds: number[] = [];
  const onExchange = (value: number): void => {
    if (seconds.push(value) > 1) return;
    setTimeout(() => {
      report({ kind: 'exchanges', seconds });
      seconds = [];
    }, reportMs).unref();
  };
  const events = { onExchange, onLoop: (server: string): void => report({ kind: 'loop', server }) };
  const server = await serveNames(options, new Meter(counts), events).catch((error: Error) => error);
  if (server instanceof Error) {
    report({ kind: 'refused', message: server.message });
    return port.close();
  }
  collectAtRest();
  port.on('message', (request: WorkerRequest) => {
    if (request.kind === 'apply') server.apply(request.changes);
    else if (request.kind === 'resolv-conf') server.setResolvConf(request.text);
    else
      void server.close().then(() => {
        report({ kind: 'closed' });
        port.close();
      });
  });
  report({ kind: 'ready', port: server.port });
}

if (parentPort !== null) void run(parentPort, workerData as WorkerInput);
