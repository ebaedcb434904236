import { randomBytes } from 'node:crypto';
import { encodeName, types } from '../wire.ts';
import type { Exchange } from './exchange.ts';
import type { ServerAddress } from './servers.ts';

export interface LoopCheckOptions {
  readonly exchange: Exchange;
  /** Called when what was sent to a server came back to this resolver. */
  readonly onLoop: (server: ServerAddress) => void;
}

/** Longer than all tries of a server that forwards. */
const waitMs = 2000;

/**
 * Finds upstream servers that ask this resolver in turn, over however many others: each is sent one question for a name
 * that no one else can know. Such a server is of no use, and each query to it would go around in a circle.
 */
export class LoopCheck {
  readonly #options: LoopCheckOptions;
  readonly #sent = new Map<string, ServerAddress>();

  constructor(options: LoopCheckOptions) {
    this.#options = options;
  }

  /** Sends the questions; resolves when all are answered or given up. */
  async check(servers: readonly ServerAddress[]): Promise<void> {
    await Promise.all(servers.map((server) => this.#checkServer(server)));
  }

  /** Told of each HINFO question that arrives. */
  seen(key: string): void {
    const server = this.#sent.get(key);
    if (server !== undefined) this.#options.onLoop(server);
  }

  async #checkServer(server: ServerAddress): Promise<void> {
    // No top-level domain has such a name, and some servers answer for known ones by themselves.
    const key = encodeName(`${randomBytes(16).toString('hex')}.${randomBytes(8).toString('hex')}`)!;
    this.#sent.set(key, server);
    const question = { key, type: types.hinfo, dnssecOk: false, checkingDisabled: false };
    const ignore = (): void => {};
    // Whether and what it answers says nothing.
    await this.#options.exchange(server, question, { timeoutMs: waitMs, withEdns: true, onForeign: ignore }).catch(ignore);
    this.#sent.delete(key);
  }
}
