import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { onAbort } from '../../client/abort.ts';
import { createBackoff } from '../../client/backoff.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { Logger } from '../../client/logger.ts';
import type { NamesChange, NamesSnapshot } from '../names/changes.ts';
import { type Resolver, startResolver } from '../names/resolver.ts';
import { wordsOf } from '../words-of.ts';

export interface NamesKeeperOptions {
  /** The node's own address in its range. */
  readonly address: string;
  readonly clusterDomain: string;
  readonly clusterCidrs: readonly string[];
  /** The machine's. */
  readonly resolvConf?: string;
  readonly snapshot: () => NamesSnapshot;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tests have one without a thread. */
  readonly start?: typeof startResolver;
}

const dnsPort = 53;
const lookMs = 10_000;
const backoffMs = { initialMs: 200, maxMs: 10_000 };
/** A resolver that ran so long was well: the next failure is another one. */
const wellMs = 60_000;

/** Keeps the node's resolver running: one that ends, or cannot bind its address, is started again. */
export class NamesKeeper {
  readonly #options: NamesKeeperOptions;
  #resolver: Resolver | undefined;

  constructor(options: NamesKeeperOptions) {
    this.#options = options;
  }

  /** One that is not running is told all of it when it starts. */
  apply(changes: readonly NamesChange[]): void {
    this.#resolver?.apply(changes);
  }

  /** Until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { resolvConf = '/etc/resolv.conf', logger, clock } = this.#options;
    const look = () => void readText(resolvConf).then((text) => this.#resolver?.setResolvConf(text));
    watchFile(resolvConf, { interval: lookMs, persistent: false }, look);
    const backoff = createBackoff(backoffMs);
    let told = '';
    try {
      while (!signal.aborted) {
        const startedAt = clock.now();
        try {
          await this.#serve(resolvConf, signal);
        } catch (error) {
          if (clock.now() - startedAt >= wellMs) {
            backoff.reset();
            told = '';
          }
          const words = wordsOf(error);
          if (words !== told) logger.warn({ address: this.#options.address }, `names are not answered: ${words}`);
          told = words;
          await pause(backoff.next(), signal, clock);
        }
      }
    } finally {
      unwatchFile(resolvConf, look);
    }
  }

  async #serve(resolvConf: string, signal: AbortSignal): Promise<void> {
    const { address, clusterDomain, clusterCidrs, snapshot, metrics, logger, start = startResolver } = this.#options;
    const resolver = await start({
      ...{ address, port: dnsPort, clusterDomain, clusterCidrs, metrics, resolvConf: await readText(resolvConf) },
      onLoop: (server) => logger.warn({ server }, 'the name server asks this node in turn: it is left out'),
    });
    resolver.apply([snapshot()]);
    this.#resolver = resolver;
    const unlink = onAbort(signal, () => void resolver.close());
    try {
      await resolver.ended;
    } finally {
      unlink();
      this.#resolver = undefined;
    }
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '';
  }
}
