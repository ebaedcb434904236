import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import type { NamesChange } from './changes.ts';
import { Meter } from './meter.ts';
import { registerNames } from './metrics.ts';
import type { WorkerInput, WorkerReport, WorkerRequest } from './names-worker.ts';
import type { ServeOptions } from './server.ts';

export interface ResolverOptions extends ServeOptions {
  readonly metrics: MetricsRegistry;
  /**
   * Told in words of an upstream server that is left out because it asks this resolver in turn. May be called several
   * times for one server.
   */
  readonly onLoop?: (server: string) => void;
}

/** The cluster's resolver, as it runs. */
export interface Resolver {
  /** Of UDP and TCP. */
  readonly port: number;
  /**
   * Takes changes of Services, EndpointSlices and pods in their order; they are in force within milliseconds. A
   * snapshot comes first. While none come, what is known goes on being answered, for as long as it takes.
   */
  apply(changes: readonly NamesChange[]): void;
  /** Reads another resolv.conf, because the machine's has changed. */
  setResolvConf(text: string): void;
  /** Rejects when the thread has died; start another one then. Resolves after `close`. */
  readonly ended: Promise<void>;
  /** Ends the thread; its sockets are closed then. */
  close(): Promise<void>;
}

/**
 * Of the thread: ten times what 5,000 services with 50 endpoints each need. What a query leaves behind is garbage at
 * once, so a small space for new objects costs no time, and Node.js would take 48 MB for it.
 */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 6 };
const closeMs = 2000;

/**
 * Starts the resolver in a thread of its own, so that neither it nor the agent holds the other up. Rejects with the
 * reason when an option is wrong or the address cannot be bound.
 */
export async function startResolver({ metrics, onLoop, ...options }: ResolverOptions): Promise<Resolver> {
  const meter = new Meter();
  const input: WorkerInput = { options, counts: meter.buffer };
  const worker = new Worker(workerFile(), { workerData: input, resourceLimits });
  // Whatever ends the thread is found in `ended` or in the rejection.
  const ended = endOf(worker);
  ended.catch(() => {});
  const { upstreamSeconds, leave } = registerNames(metrics, meter);
  void ended.then(leave, leave);
  worker.on('message', (report: WorkerReport) => {
    if (report.kind === 'exchanges') for (const seconds of report.seconds) upstreamSeconds.observe(seconds);
    else if (report.kind === 'loop') onLoop?.(report.server);
  });
  const send = (request: WorkerRequest): void => worker.postMessage(request);
  return {
    port: await readyPort(worker, ended),
    apply: (changes) => send({ kind: 'apply', changes }),
    setResolvConf: (text) => send({ kind: 'resolv-conf', text }),
    ended,
    async close() {
      send({ kind: 'close' });
      const timer = setTimeout(() => void worker.terminate(), closeMs);
      await ended.catch(() => {});
      clearTimeout(timer);
    },
  };
}

/**
 * The built program has the thread's file beside this one; from TypeScript sources (in tests) a hook strips the types.
 */
function workerFile(): URL {
  if (import.meta.url.endsWith('.js')) return new URL('./names-worker.js', import.meta.url);
  return new URL('../../test/fixtures/names-worker-from-source.mjs', import.meta.url);
}

async function readyPort(worker: Worker, ended: Promise<void>): Promise<number> {
  const ready = new Promise<number>((resolve, reject) => {
    worker.on('message', (report: WorkerReport) => {
      if (report.kind === 'ready') resolve(report.port);
      else if (report.kind === 'refused') reject(new Error(report.message));
    });
  });
  const early = ended.then((): never => {
    throw new Error("the resolver's thread ended before it served");
  });
  return Promise.race([ready, early]);
}

async function endOf(worker: Worker): Promise<void> {
  let isClosed = false;
  worker.on('message', ({ kind }: WorkerReport) => {
    isClosed ||= kind === 'closed' || kind === 'refused';
  });
  // `once` rejects with what the thread threw.
  const [code] = (await once(worker, 'exit')) as [number];
  if (!isClosed) throw new Error(`the resolver's thread ended with code ${code}`);
}
